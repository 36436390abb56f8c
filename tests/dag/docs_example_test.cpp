// The worked example of docs/graphs.md, compiled and run; the document shows the lines between the marks, and a
// test there holds the two together.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "espalier/dag_nn.hpp"
#include "espalier/random.hpp"
#include "places.hpp"

namespace espalier {
namespace {

TEST(DocsExample, GradientAccumulation) {
  // [example]
  // y = x0 * x1 on [-1, 1]^2, learned in mini-batches of 32 whose gradients are added up.
  DagNN network = DagNN::layered({2, 16, 1}, {.hidden = Activation::kTanh, .seed = 7});
  const Random random(1, Purpose::kData);
  double loss = 0;
  for (int step = 0; step < 4000; ++step) {
    network.zero_grad();
    loss = 0;
    for (int part = 0; part < 4; ++part) {  // four mini-batches, one update
      std::vector<float> samples(32 * 2), gradient(32);
      for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = 2 * random.uniform(static_cast<std::uint64_t>(step * 4 + part) * 64 + i) - 1;
      const std::span<const float> y = network.forward(samples, 32);
      for (std::size_t i = 0; i < 32; ++i) {
        const float error = y[i] - samples[2 * i] * samples[2 * i + 1];
        loss += 0.5 * error * error / 128;
        gradient[i] = error / 128;  // of the mean over all 4 x 32 samples
      }
      network.backward_accumulate(gradient);  // adds to what is there
    }
    network.clip_gradients(1.0);  // returns the norm before
    network.step(0.3f);
  }
  // [example end]
  EXPECT_LT(loss, 0.002);
}

TEST(DocsExample, TheDocumentShowsTheCompiledLines) {
  const auto read = [](const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::string source = read(test::source_dir() + "/tests/dag/docs_example_test.cpp");
  const std::size_t begin = source.find("  // [example]\n") + 15, end = source.find("  // [example end]");
  std::istringstream lines(source.substr(begin, end - begin));
  std::string expected, line;
  while (std::getline(lines, line)) expected += line.substr(std::min<std::size_t>(2, line.size())) + "\n";
  ASSERT_GT(expected.size(), 500u);
  EXPECT_NE(read(test::source_dir() + "/docs/graphs.md").find("```cpp\n" + expected + "```"), std::string::npos);
}

}  // namespace
}  // namespace espalier
