#include "runs/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "espalier/ranks.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "espalier checkpoint 3";
constexpr const char *kState = "state/", *kBestState = "best_state/";  // before the names of the objective's tensors
constexpr const char* kRefined = "refined/";                           // and of the refined model's

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

std::uint64_t count_from(const Json& state, const char* key) {
  const Json& value = state.at(key);
  if (!value.is_number_unsigned()) fail("restore checkpoint", fmt::format("{} as {}", value.dump(), key), "a count");
  return value.get<std::uint64_t>();
}

Json to_json(const Evaluation& e) {
  Json extra = Json::array();
  for (const auto& [name, value] : e.extra) extra.push_back({name, number(value)});
  return {{"score", number(e.score)}, {"passed", e.passed}, {"loss", number(e.loss)}, {"extra", extra}};
}

Evaluation evaluation_from(const Json& j) {
  Evaluation e{number_from(j.at("score")), j.at("passed").get<bool>(), number_from(j.at("loss")), {}};
  for (const Json& pair : j.at("extra")) e.extra.emplace_back(pair.at(0).get<std::string>(), number_from(pair.at(1)));
  return e;
}

void add_state(SafetensorsFile& file, const std::string& prefix, const SafetensorsFile& state) {
  for (const auto& [name, tensor] : state.tensors) file.tensors[prefix + name] = tensor;
  for (const auto& [key, value] : state.metadata) file.metadata[prefix + key] = value;
}

SafetensorsFile state_from(const SafetensorsFile& file, const std::string& prefix) {
  SafetensorsFile state;
  for (const auto& [name, tensor] : file.tensors)
    if (name.starts_with(prefix)) state.tensors[name.substr(prefix.size())] = tensor;
  for (const auto& [key, value] : file.metadata)
    if (key.starts_with(prefix)) state.metadata[key.substr(prefix.size())] = value;
  return state;
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name, std::size_t count) {
  std::vector<float> values = file.floats(name);
  if (values.size() != count)
    fail("restore checkpoint", fmt::format("{} values in \"{}\"", values.size(), name), fmt::format("{}", count),
         "the checkpoint belongs to another model or configuration");
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); }))
    fail("restore checkpoint", fmt::format("values in \"{}\" that are not finite", name), "weights");
  return values;
}

void check_format(const SafetensorsFile& file) {
  if (file.meta("format") != kFormat)
    fail("restore checkpoint", fmt::format("format \"{}\"", file.meta("format")), fmt::format("\"{}\"", kFormat),
         "a run of another version cannot be continued; start a new one");
}

[[noreturn]] void fail_of_entries() {
  fail("restore checkpoint", "a state with missing or wrong entries", "what this library writes");
}

void check_notes(const SafetensorsFile& file, const CheckpointNotes& expected) {
  check_format(file);
  if (!file.is_sealed())
    fail("restore checkpoint", "a file that does not match its own seal", "an unchanged one", "the file is damaged");
  if (file.meta("config_hash") != expected.config_hash)
    fail("resume", "a checkpoint that was made with another config.json", "one made with this config",
         "restore config.json, or start anew");
  // Names follow from the config, so only what is in the files can differ.
  const Json before = parse_json(file.meta("inputs"), "the inputs of a checkpoint");
  if (before.size() != expected.inputs.size())
    fail("restore checkpoint", fmt::format("{} data files", before.size()), fmt::format("{}", expected.inputs.size()));
  for (std::size_t i = 0; i < expected.inputs.size(); ++i)
    if (before[i].at(1) != expected.inputs[i].second)
      fail("resume", fmt::format("data that have changed since the checkpoint was made: {}", expected.inputs[i].first),
           "the file this run began with", "restore it, or start a new run");
}

}  // namespace

InputHashes hash_inputs(const std::vector<std::string>& files) {
  InputHashes hashes;
  for (const std::string& file : files) {
    const std::vector<std::byte> bytes = read_bytes(file);
    hashes.emplace_back(file, Hasher().add(bytes.data(), bytes.size()).hex());
  }
  return hashes;
}

void check_same_inputs(const std::vector<std::string>& files, Ranks* ranks) {
  if (!ranks) return;
  std::string hashes;
  for (const auto& [file, hash] : hash_inputs(files)) hashes += hash + " ";
  ranks->check_same("input files", hashes);
}

SafetensorsFile make_checkpoint(Trainer& trainer, const CheckpointNotes& notes,
                                const std::optional<RefinedModel>& refined) {
  SafetensorsFile file;
  const TrainState& s = trainer.state();
  const Parameters& p = trainer.objective().parameters();
  const auto flat = [&](const char* name, std::span<const float> values) { file.add(name, {values.size()}, values); };
  flat("weights", p.values());
  flat("first_moment", trainer.optimizer().first_moment());
  flat("second_moment", trainer.optimizer().second_moment());
  flat("best_weights", s.best_values);
  add_state(file, kState, trainer.objective().state());
  add_state(file, kBestState, s.best_state);
  if (refined) add_state(file, kRefined, refined->file);
  const Json state = {{"step", s.step},
                      {"optimizer_steps", trainer.optimizer().steps()},
                      {"loss", number(s.loss)},
                      {"first", to_json(s.first)},
                      {"last", to_json(s.last)},
                      {"best", to_json(s.best)},
                      {"best_step", s.best_step},
                      {"evaluations_since_best", s.evaluations_since_best},
                      {"evaluated", s.evaluated},
                      {"evaluated_step", s.evaluated_step},
                      {"returns", s.returns},
                      {"searched_step", s.searched_step},
                      {"seconds", number(s.seconds)},
                      {"refined", refined ? to_json(refined->evaluation) : Json()},
                      {"metrics", {{"lines", notes.metrics.lines}, {"hash", notes.metrics.hash}}},
                      {"other_bits", notes.other_bits},
                      {"finished", notes.finished}};
  Json traits = Json::object();
  for (const Trait& trait : notes.traits) traits[trait.what] = trait.value;
  file.metadata["format"] = kFormat;
  file.metadata["state"] = state.dump();
  file.metadata["traits"] = traits.dump();
  file.metadata["config_hash"] = notes.config_hash;
  file.metadata["inputs"] = Json(notes.inputs).dump(-1, ' ', false, Json::error_handler_t::replace);
  file.seal();
  return file;
}

CheckpointSummary summarize_checkpoint(const SafetensorsFile& file) {
  check_format(file);
  try {
    const Json state = parse_json(file.meta("state"), "the state of a checkpoint");
    CheckpointSummary summary{count_from(state, "step"), number_from(state.at("seconds")),
                              state.at("finished").get<bool>()};
    if (state.at("evaluated").get<bool>()) summary.best = evaluation_from(state.at("best"));
    if (!state.at("refined").is_null()) {
      const Evaluation refined = evaluation_from(state["refined"]);
      if (!summary.best || refined.better_than(*summary.best)) summary.best = refined;
    }
    return summary;
  } catch (const Json::exception&) {
    fail_of_entries();
  }
}

Restored restore_checkpoint(Trainer& trainer, const SafetensorsFile& file, const CheckpointNotes& expected) {
  Parameters& p = trainer.objective().parameters();
  Optimizer& optimizer = trainer.optimizer();
  try {
    check_notes(file, expected);
    const Json state = parse_json(file.meta("state"), "the state of a checkpoint");
    TrainState s;
    s.step = count_from(state, "step");
    const std::uint64_t optimizer_steps = count_from(state, "optimizer_steps");
    s.loss = number_from(state.at("loss"));
    s.first = evaluation_from(state.at("first"));
    s.last = evaluation_from(state.at("last"));
    s.best = evaluation_from(state.at("best"));
    s.best_step = count_from(state, "best_step");
    s.evaluations_since_best = count_from(state, "evaluations_since_best");
    s.evaluated = state.at("evaluated");
    s.evaluated_step = count_from(state, "evaluated_step");
    s.returns = count_from(state, "returns");
    s.searched_step = count_from(state, "searched_step");
    s.seconds = number_from(state.at("seconds"));
    Restored restored;
    restored.finished = state.at("finished");
    if (!state.at("refined").is_null()) {
      restored.refined = {evaluation_from(state["refined"]), state_from(file, kRefined)};
      load_model(restored.refined->file, "the refined model of a checkpoint");  // can be used
    }
    restored.metrics = {count_from(state.at("metrics"), "lines"), state["metrics"].at("hash").get<std::string>()};
    restored.other_bits = state.at("other_bits").get<std::string>();
    const Json traits = parse_json(file.meta("traits"), "the traits of a checkpoint");
    for (const auto& [what, value] : traits.items()) restored.traits.push_back({what, value.get<std::string>()});
    if (s.best_step > s.step || s.evaluated_step > s.step || s.searched_step > s.step || optimizer_steps != s.step ||
        !(s.seconds >= 0))
      fail("restore checkpoint", "counters that contradict each other", "what this library writes");
    const auto weights = values_of(file, "weights", p.num_parameters());
    const auto first = values_of(file, "first_moment", optimizer.first_moment().size());
    const auto second = values_of(file, "second_moment", optimizer.second_moment().size());
    const auto best = values_of(file, "best_weights", s.evaluated ? p.num_parameters() : 0);
    s.best_values.assign(best.begin(), best.end());
    s.best_state = state_from(file, kBestState);
    trainer.objective().restore_state(state_from(file, kState));
    // Nothing below can fail.
    std::ranges::copy(weights, p.values().begin());
    std::ranges::copy(first, optimizer.first_moment().begin());
    std::ranges::copy(second, optimizer.second_moment().begin());
    optimizer.set_steps(optimizer_steps);
    trainer.state() = std::move(s);
    return restored;
  } catch (const Json::exception&) {
    fail_of_entries();
  }
}

}  // namespace espalier
