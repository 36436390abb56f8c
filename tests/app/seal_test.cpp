// Model files of every kind with one bit changed, through everything that reads them: none is believed.
#include "app/program.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "runs/small_runs.hpp"

namespace espalier {
namespace {

// Every kind and format that is written today.
class Seal : public testing::Test {
 protected:
  void SetUp() override {
    const auto trained = [&](const char* name, RunConfig config) {
      config.train.steps = 5;
      config.train.until_solved = false;
      ThreadPool pool(1);
      TrainingRun run = TrainingRun::create(config, {});
      run.train(pool);
      std::unique_ptr<Model> model = run.best_model();
      save_model(folder_ / name, *model, {{"config", "{\"task\": \"x\"}"}, {"step", "5"}});
      return model;
    };
    const auto picture = trained("picture", small_picture(folder_));
    const auto& automaton = dynamic_cast<const LatticeModel&>(*picture);
    save_model(folder_ / "refined", *automaton.refined(prove_cell(automaton).netlist()), {{"refined.seed", "1"}});
    RunConfig entries = small_picture(folder_);
    entries.set("parametrisation", "entries");
    trained("entries", entries);
    RunConfig wires = small_picture(folder_);
    wires.set("candidates", "3");
    trained("wires", wires);
    trained("table", small_table(folder_));
    trained("rewrite", small_simplify());
  }

  // The file with one bit changed; half of the bits are in the header, which is a small part of it.
  std::string with_a_flip(const std::string& name, std::uint64_t i) const {
    std::string bytes = read_text(folder_ / name);
    const std::size_t range = i % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 2500);
    const std::size_t bit = random_.choice(i, 8 * range);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    std::ofstream(folder_ / "flipped", std::ios::binary) << bytes;
    return folder_ / "flipped";
  }

  TempFolder folder_;
  const Random random_{5, Purpose::kTrial};
};

TEST_F(Seal, NoReaderOfTheLibraryBelievesAFileWithAChangedBit) {
  const std::vector<std::string> names{"picture", "refined", "entries", "wires", "table", "rewrite"};
  for (const std::string& name : names) EXPECT_NO_THROW(load_model(folder_ / name)) << name;
  for (const char* name : {"picture", "refined", "entries", "wires"}) EXPECT_NO_THROW(load_circuit(folder_ / name));
  for (std::uint64_t i = 0; i < 1200; ++i) {
    const std::string& name = names[i % names.size()];
    const std::string flipped = with_a_flip(name, i);
    EXPECT_THROW(load_model(flipped), Error) << name << " " << i;
    EXPECT_THROW(load_circuit(flipped), Error) << name << " " << i;
    EXPECT_THROW(read_safetensors(flipped), Error) << name << " " << i;
  }
}

TEST_F(Seal, NoCommandBelievesAFileWithAChangedBit) {
  const std::string csv = small_csv(folder_), out = folder_ / "out";
  const auto commands_on = [&](const std::string& model) {
    return std::vector<Arguments>{
        {"export", model, "--to", "verilog", "-o", folder_ / "out.v"},
        {"export", model, "--to", "aiger", "--board", "4x4", "-o", out},
        {"circuit", model},
        {"verify", model, folder_ / "refined"},
        {"verify", folder_ / "refined", model},
        {"run", model, "--quiet"},
        {"eval", model},
        {"info", model},
        {"prove", model, "converges"},
        {"refine", model, "-o", out},
        {"train", "pattern", "--target", folder_ / "target.txt", "--from", model, "--train-steps", "1", "--out",
         folder_ / "run"},
        {"predict", model, csv},
        {"rewrite", model, "x"},
    };
  };
  // Each is one that works, for some kind of model: no test of commands that fail anyway.
  for (const std::size_t i : {0u, 2u, 3u, 5u, 7u})
    EXPECT_EQ(run(commands_on(folder_ / "refined")[i]).exit_code, 0) << commands_on("")[i][0];
  EXPECT_EQ(run({"predict", folder_ / "table", csv}).exit_code, 0);
  EXPECT_EQ(run({"rewrite", folder_ / "rewrite", "x"}).exit_code, 0);
  std::filesystem::remove(folder_ / "out.v");
  std::filesystem::remove(folder_ / "out_tb.v");
  std::uint64_t i = 7000;
  for (const char* name : {"refined", "wires", "table", "rewrite"})
    for (int times = 0; times < 4; ++times)
      for (const Arguments& command : commands_on(with_a_flip(name, i++))) {
        const Ended ended = run(command);
        EXPECT_EQ(ended.exit_code, 1) << command[0] << " " << name << " " << i << ended.err;
        EXPECT_EQ(ended.out, "") << command[0];
        EXPECT_FALSE(file_exists(out)) << command[0];
        EXPECT_FALSE(file_exists(folder_ / "out.v"));
      }
}

}  // namespace
}  // namespace espalier
