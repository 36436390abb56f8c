#include "models/message/simplify_model.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "runs/checkpoint.hpp"
#include "runs/config.hpp"

namespace espalier {

SimplifyDataOptions simplify_data_options(const Json& c, std::uint64_t seed) {
  SimplifyDataOptions o;
  o.train = c.at("train-examples");
  o.validation = c.at("validation-examples");
  o.test = c.at("test-examples");
  o.deep = c.at("deep-examples");
  o.depth = c.at("depth");
  o.max_number = c.at("most-number");
  o.share = c.at("share");
  o.file = c.value("data", "");
  o.seed = seed;
  return o;
}

TransformOptions simplify_net_options(const Json& c) {
  return {c.at("features").get<std::size_t>(), c.at("layers").get<std::size_t>(),
          aggregation_named(c.at("aggregation").get<std::string>()), c.at("norm") == "layer",
          activation_named(c.at("activation").get<std::string>())};
}

namespace {

Json simplify_config(const SafetensorsFile& file) {
  const Json config = parse_config(file.meta("config"), "the model's config");
  if (config.at("task") != "simplify")
    fail("simplify model", fmt::format("a model of the task {}", config.at("task").dump()), "one of simplify",
         "make one with: espalier train simplify");
  return config;
}

}  // namespace

GraphTransformNet load_simplify_model(const SafetensorsFile& file) {
  const Json config = simplify_config(file);
  const Json labels = Json::parse(file.meta("vocabulary"), nullptr, false);
  std::vector<std::string> words;
  if (labels.is_array())
    for (const Json& label : labels)
      if (label.is_string()) words.push_back(label.get<std::string>());
  if (words.empty() || words.size() != labels.size())
    fail("simplify model", "a vocabulary that is not a list of labels", "a JSON array of texts");
  GraphTransformNet net = make_rewrite_net(Vocabulary(std::move(words)), simplify_net_options(config), 0);
  load_parameters(net.parameters(), file);
  return net;
}

bool simplify_model_shares(const SafetensorsFile& file) { return simplify_config(file).at("share").get<bool>(); }

}  // namespace espalier
