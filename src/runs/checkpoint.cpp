#include "runs/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "espalier/error.hpp"
#include "base/json.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

// JSON knows no infinity and no NaN; a resumed run must compare with them all the same.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from(const Json& j) {
  if (!j.is_string()) return j.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return j == "inf" ? infinity : j == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

Json to_json(const Evaluation& e) {
  Json extra = Json::array();
  for (const auto& [name, value] : e.extra) extra.push_back({name, number(value)});
  return {{"score", number(e.score)}, {"solved", e.solved}, {"loss", number(e.loss)}, {"extra", extra}};
}

Evaluation evaluation_from(const Json& j) {
  Evaluation e{number_from(j.at("score")), j.at("solved").get<bool>(), number_from(j.at("loss")), {}};
  for (const Json& pair : j.at("extra")) e.extra.emplace_back(pair.at(0).get<std::string>(), number_from(pair.at(1)));
  return e;
}

void copy_into(std::span<float> target, const SafetensorsFile& file, const std::string& name) {
  const std::vector<float> values = file.floats(name);
  if (values.size() != target.size())
    fail("restore checkpoint", fmt::format("{} values in \"{}\"", values.size(), name),
         fmt::format("{}", target.size()), "the checkpoint belongs to another model or configuration");
  std::copy(values.begin(), values.end(), target.begin());
}

constexpr const char* kFormat = "espalier checkpoint 1";

}  // namespace

SafetensorsFile make_checkpoint(Trainer& trainer, bool finished) {
  SafetensorsFile file;
  const TrainState& s = trainer.state();
  Parameters& p = trainer.objective().parameters();
  const auto flat = [&](const char* name, std::span<const float> values) { file.add(name, {values.size()}, values); };
  flat("weights", p.values());
  flat("first_moment", trainer.optimizer().first_moment());
  flat("second_moment", trainer.optimizer().second_moment());
  flat("best_weights", s.best_values);
  const Json state = {{"epoch", s.epoch},
                      {"optimizer_steps", trainer.optimizer().steps()},
                      {"loss", number(s.loss)},
                      {"last", to_json(s.last)},
                      {"best", to_json(s.best)},
                      {"best_epoch", s.best_epoch},
                      {"evaluations_since_best", s.evaluations_since_best},
                      {"evaluated", s.evaluated},
                      {"seconds", s.seconds},
                      {"finished", finished},
                      {"weights_hash", p.hash()}};
  file.metadata = {{"format", kFormat}, {"state", state.dump()}};
  return file;
}

bool restore_checkpoint(Trainer& trainer, const SafetensorsFile& file) {
  if (file.meta("format") != kFormat)
    fail("restore checkpoint", fmt::format("format \"{}\"", file.meta("format")), fmt::format("\"{}\"", kFormat));
  Parameters& p = trainer.objective().parameters();
  TrainState& s = trainer.state();
  copy_into(p.values(), file, "weights");
  copy_into(trainer.optimizer().first_moment(), file, "first_moment");
  copy_into(trainer.optimizer().second_moment(), file, "second_moment");
  try {
    const Json state = parse_json(file.meta("state"), "the state of a checkpoint");
    if (state.at("weights_hash") != p.hash())
      fail("restore checkpoint", "weights of another hash", state.at("weights_hash").get<std::string>(),
           "the file is damaged or belongs to another model");
    s.epoch = state.at("epoch");
    trainer.optimizer().set_steps(state.at("optimizer_steps"));
    s.loss = number_from(state.at("loss"));
    s.last = evaluation_from(state.at("last"));
    s.best = evaluation_from(state.at("best"));
    s.best_epoch = state.at("best_epoch");
    s.evaluations_since_best = state.at("evaluations_since_best");
    s.evaluated = state.at("evaluated");
    s.seconds = state.at("seconds");
    s.best_values.resize(s.evaluated ? p.num_parameters() : 0);
    copy_into(s.best_values, file, "best_weights");
    return state.at("finished");
  } catch (const Json::exception& e) {
    fail("restore checkpoint", fmt::format("a state with missing or wrong entries ({})", e.what()),
         "what this program writes");
  }
}

SafetensorsFile make_model(const Trainer& trainer, const std::string& config) {
  SafetensorsFile file;
  const Parameters& p = trainer.objective().parameters();
  const TrainState& s = trainer.state();
  const std::span<const float> best = s.best_values;
  for (const TensorInfo& t : p.tensors()) file.add(t.name, t.shape, best.subspan(t.offset, t.size));
  file.metadata = {{"format", "espalier model 1"},           {"config", config},
                   {"epoch", std::to_string(s.best_epoch)},  {"score", fmt::format("{}", s.best.score)},
                   {"loss", fmt::format("{}", s.best.loss)}, {"solved", s.best.solved ? "true" : "false"}};
  trainer.objective().describe(file);
  file.seal();
  return file;
}

void load_parameters(Parameters& parameters, const SafetensorsFile& file) {
  for (std::size_t i = 0; i < parameters.tensors().size(); ++i) {
    const TensorInfo& t = parameters.tensors()[i];
    const StoredTensor& stored = file.tensor(t.name);
    if (stored.shape != t.shape)
      fail("load model", fmt::format("shape [{}] for \"{}\"", fmt::join(stored.shape, ", "), t.name),
           fmt::format("[{}]", fmt::join(t.shape, ", ")));
    const std::vector<float> values = file.floats(t.name);
    std::copy(values.begin(), values.end(), parameters.values(i).begin());
    for (const float v : values)
      if (!std::isfinite(v)) fail("load model", fmt::format("{} in \"{}\"", v, t.name), "finite numbers");
  }
}

}  // namespace espalier
