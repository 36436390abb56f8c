// RunConfig and its text: one flat JSON object with the task's name, the seed and a value for every field.
#include <fmt/format.h>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "runs/own_files.hpp"
#include "tasks/registry.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

FieldValue value_from(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  fail(name, shown_json(value), "a number, a text, true or false");
}

}  // namespace

RunConfig::RunConfig(const Task& t)
    : task(t.name), seeds(t.seeds), budget(t.budget), train(t.train), options_(t.options->clone()) {}

RunConfig::RunConfig(const RunConfig& other)
    : task(other.task),
      seed(other.seed),
      seeds(other.seeds),
      budget(other.budget),
      train(other.train),
      options_(other.options_->clone()),
      budget_named_(other.budget_named_) {}

RunConfig& RunConfig::operator=(const RunConfig& other) {
  if (this != &other) *this = RunConfig(other);
  return *this;
}

Fields RunConfig::fields() {
  Fields f;
  f.add("seed", seed, "seed of wiring, data and noise; the first of several seeds", 0, 1.8446744073709552e19);
  f.add("seeds", seeds, "seeds to train, from the first upward; the lowest that solves the task is kept", 1, 10'000);
  f.add("budget", budget,
        "work on further seeds while none has solved the task, in optimizer steps, which a search is converted to; "
        "0 = one attempt, the default when training steps are reduced",
        0, 1e15)
      .when_named([this] { budget_named_ = true; });
  f.append(fields_of(train));
  f.append(options_->fields());
  return f;
}

std::unique_ptr<Objective> RunConfig::resolve() {
  const Task* known = known_task(task, all_tasks());  // null: one of the caller's own
  const bool asked = budget_named_ || (known && budget != known->budget);
  if (asked && budget && seeds > 1)
    fail("budget", fmt::format("{} for {} seeds", budget, seeds), "a single seed: a budget is for its further attempts",
         "leave out the budget or the number of seeds");
  // Fewer steps than the task's own are a quick try: one attempt, unless a budget is asked for.
  if (known && train.steps < known->train.steps && !asked) budget = 0;
  std::unique_ptr<Objective> made = make_objective();
  options_->follow(*made);
  return made;
}

std::string RunConfig::text() const {
  RunConfig copy = *this;  // fields point into an object that can be changed
  Json config = {{"task", task}, {kRunMark.first, kRunMark.second}};
  const Fields fields = copy.fields();
  for (const Field& field : fields.list())
    std::visit([&](const auto& value) { config[field.name()] = value; }, field.value());
  try {
    return config.dump(2) + "\n";
  } catch (const Json::exception&) {
    fail("config", "a text that is not UTF-8", "names and paths in UTF-8", "rename the file");
  }
}

RunConfig RunConfig::parse(std::string_view text, const std::string& what, std::span<const Task> tasks) {
  const Json config = parse_json(text, what);
  if (!config.is_object() || !config.contains("task") || !config["task"].is_string())
    fail("config", fmt::format("{} without a \"task\"", what), "an object with the name of a task");
  RunConfig result(find_task(config["task"].get<std::string>(), tasks, " in " + what));
  Fields fields = result.fields();
  for (const auto& [key, value] : config.items())
    if (key == kRunMark.first && value != kRunMark.second)
      fail("config", fmt::format("{} of a run {}", what, shown_json(value)), fmt::format("\"{}\"", kRunMark.second),
           "another version has written it");
    else if (key != "task" && key != kRunMark.first)
      fields.at(key).set(value_from(key, value));
  return result;
}

RunConfig configure(std::string_view task, std::span<const std::pair<std::string, std::string>> settings) {
  RunConfig config(find_task(task));
  for (const auto& [name, text] : settings) config.set(name, text);
  return config;
}

RunConfig configure(std::string_view task, std::initializer_list<std::pair<std::string, std::string>> settings) {
  return configure(task, std::span(settings.begin(), settings.size()));
}

}  // namespace espalier
