#include "task_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"

namespace espalier::app {
namespace {

std::string value_name(const TaskOption& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  if (option.value.is_number_integer()) return "N";
  if (option.value.is_number()) return "X";
  return "TEXT";
}

// Text to the JSON type of the option's default; the range is checked by the library.
Json convert(const TaskOption& option, const std::string& text) {
  if (option.value.is_string()) return text;
  const Json value = Json::parse(text, nullptr, false);
  if (option.value.is_number_integer() && value.is_number_integer()) return value;
  if (option.value.is_number_float() && value.is_number()) return value.get<double>();
  throw CLI::ValidationError(
      "--" + option.name,
      fmt::format("got \"{}\", expected {}", text, option.value.is_number_integer() ? "a whole number" : "a number"));
}

}  // namespace

std::shared_ptr<Json> add_task_options(CLI::App& command, const Task& task) {
  auto config = std::make_shared<Json>(Json{{"task", task.name()}});
  for (const TaskOption& option : all_options(task)) {
    const std::string flag = "--" + option.name;
    if (option.value.is_boolean()) {
      const std::string both = flag + ",!--no-" + option.name;
      command.add_flag_function(
          option.value.get<bool>() ? both : flag,
          [config, name = option.name](std::int64_t count) { (*config)[name] = count > 0; }, option.help);
      continue;
    }
    command
        .add_option_function<std::string>(
            flag,
            [config, option](const std::string& text) {
              const Json value = convert(option, text);
              as_usage([&] { check_option(option, value); });
              (*config)[option.name] = value;
            },
            option.help)
        ->take_last()
        ->type_name(value_name(option))
        ->default_str(option.value.is_string() ? option.value.get<std::string>() : option.value.dump());
  }
  return config;
}

}  // namespace espalier::app
