#include "runs/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "base/json.hpp"

namespace espalier {
namespace {

std::vector<TaskOption> trainer_options() {
  return {
      {"epochs", 100, "optimizer steps", 0, 1e9, {}},
      {"lr", 0.01, "learning rate", 0, 1e3, {}},
      {"schedule", "constant", "course of the learning rate after the warm-up", 0, 0, {"constant", "step", "cosine"}},
      {"lr-final", 0.0, "cosine: rate at the end, as a fraction of --lr", 0, 1, {}},
      {"lr-step", 1000, "step: epochs between drops", 1, 1e9, {}},
      {"lr-gamma", 0.5, "step: factor of each drop", 0, 1, {}},
      {"warmup", 0, "epochs of linear rise at the start", 0, 1e9, {}},
      {"accumulate", 1, "mini-batches whose gradients are added up for one step", 1, 1e6, {}},
      {"optimizer", "adamw", "the optimizer", 0, 0, {"adamw", "sgd"}},
      {"momentum", 0.0, "SGD: momentum", 0, 1, {}},
      {"beta1", 0.9, "AdamW: decay of the mean of gradients", 0, 0.999999, {}},
      {"beta2", 0.999, "AdamW: decay of the mean of squared gradients", 0, 0.999999, {}},
      {"epsilon", 1e-8, "AdamW: added to the root of the mean square", 0, 1, {}},
      {"weight-decay", 0.0, "decoupled weight decay", 0, 10, {}},
      {"clip-value", 0.0, "limit of each gradient element; 0 = none", 0, 1e30, {}},
      {"clip-norm", 0.0, "limit of the global gradient norm; 0 = none", 0, 1e30, {}},
      {"eval-every", 10, "epochs between evaluations", 1, 1e9, {}},
      {"patience", 0, "give up after this many evaluations without a better one; 0 = never", 0, 1e9, {}},
      {"seeds", 1, "seeds to train at once, from --seed upward; the best is kept", 1, 10'000, {}},
      {"until-solved",
       false,
       "stop at the first evaluation that is solved; with --seeds always, and the fewest epochs win",
       0,
       0,
       {}},
  };
}

const char* type_name(const Json& value) {
  if (value.is_boolean()) return "true or false";
  if (value.is_number_integer()) return "a whole number";
  if (value.is_number()) return "a number";
  return "text";
}

}  // namespace

std::vector<TaskOption> all_options(const Task& task) {
  std::vector<TaskOption> options = trainer_options();
  for (const TaskOption& own : task.options()) {
    const auto shared =
        std::find_if(options.begin(), options.end(), [&](const TaskOption& o) { return o.name == own.name; });
    if (shared == options.end())
      options.push_back(own);
    else
      shared->value = own.value;
  }
  return options;
}

Json default_config(const Task& task) {
  Json config = {{"task", task.name()}, {"seed", 1}};
  for (const TaskOption& option : all_options(task)) config[option.name] = option.value;
  return config;
}

void check_option(const TaskOption& option, const Json& value) {
  const std::string op = "--" + option.name;
  const bool fits = option.value.is_boolean()          ? value.is_boolean()
                    : option.value.is_number_integer() ? value.is_number_integer()
                    : option.value.is_number()         ? value.is_number()
                                                       : value.is_string();
  if (!fits) fail(op, shown_json(value), type_name(option.value));
  if (value.is_number() && (value.get<double>() < option.least || value.get<double>() > option.most))
    fail(op, shown_json(value), fmt::format("{:g} to {:g}", option.least, option.most));
  if (!option.choices.empty() &&
      std::find(option.choices.begin(), option.choices.end(), value.get<std::string>()) == option.choices.end())
    fail(op, shown_json(value), fmt::format("one of {}", fmt::join(option.choices, ", ")));
}

Json checked_config(const Json& config) {
  if (!config.is_object() || !config.contains("task") || !config["task"].is_string())
    fail("config", "no \"task\"", "an object with the name of a task");
  const Task& task = find_task(config["task"].get<std::string>());
  Json full = default_config(task);
  if (config.contains("seed")) {
    const Json& seed = config["seed"];
    if (!seed.is_number_integer() || seed < 0) fail("--seed", shown_json(seed), "a whole number from 0");
    full["seed"] = seed;
  }
  const std::vector<TaskOption> options = all_options(task);
  for (const auto& [key, value] : config.items()) {
    if (key == "task" || key == "seed") continue;
    const auto option =
        std::find_if(options.begin(), options.end(), [&, k = key](const TaskOption& o) { return o.name == k; });
    if (option == options.end())
      fail("config", fmt::format("the option \"{}\"", key), fmt::format("an option of {}", task.name()),
           fmt::format("espalier train {} --help lists them", task.name()));
    check_option(*option, value);
    full[key] = value;
  }
  return full;
}

Json parse_config(const std::string& text, const std::string& what) { return checked_config(parse_json(text, what)); }

TrainOptions train_options(const Json& c) {
  TrainOptions o;
  o.epochs = c.at("epochs");
  o.accumulate = c.at("accumulate");
  o.eval_every = c.at("eval-every");
  o.patience = c.at("patience");
  o.until_solved = c.at("until-solved");
  o.optimizer = {optimizer_kind(c.at("optimizer").get<std::string>()),
                 c.at("momentum"),
                 c.at("beta1"),
                 c.at("beta2"),
                 c.at("epsilon"),
                 c.at("weight-decay"),
                 c.at("clip-value"),
                 c.at("clip-norm")};
  o.schedule = {schedule_kind(c.at("schedule").get<std::string>()),
                c.at("lr"),
                c.at("lr-final"),
                c.at("lr-step"),
                c.at("lr-gamma"),
                c.at("warmup")};
  return o;
}

std::uint64_t config_seed(const Json& config) { return config.at("seed").get<std::uint64_t>(); }

}  // namespace espalier
