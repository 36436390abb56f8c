// The one file that knows the command-line library.
#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include "espalier/error.hpp"
#include "output.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

bool shared_work = false;  // a command runs on all ranks

// Never throws, even when standard error cannot be written; one line, whatever the text.
int complain(std::string text, int exit_code) {
  constexpr std::size_t kMaxLine = 1000;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  if (text.size() > kMaxLine) text = text.substr(0, kMaxLine / 2) + " ... " + text.substr(text.size() - kMaxLine / 2);
  // What went wrong in a command may have gone wrong on one rank alone; before, all see the same.
  if (program_ranks() && shared_work) program_ranks()->end_job(text, exit_code);
  note("espalier: {}\n", text);
  return exit_code;
}

std::string flags_of(const Field& field) {
  std::string names;
  for (const std::string& alias : field.aliases())
    if (alias.size() == 1) names += "-" + alias + ",";
  names += "--" + field.name();
  for (const std::string& alias : field.aliases())
    if (alias.size() > 1) names += ",--" + alias;
  return names;
}

std::string metavar_of(const Field& field) {
  if (!field.metavar().empty()) return field.metavar();
  if (!field.choices().empty()) return fmt::format("{}", fmt::join(field.choices(), "|"));
  switch (field.kind()) {
    case Field::Kind::kInteger: return "N";
    case Field::Kind::kNumber: return "X";
    default: return "TEXT";
  }
}

// A field's Error says "[name] got ...": on the command line the name is that of the flag.
// `varies`: the command tries several values of a setting, which are given in another way.
void set_from_flag(Field field, const std::string& text, std::set<std::string>& given, bool varies = false) {
  // A flag that is turned off is as good as not given: one command line serves for several commands and tasks.
  if (field.kind() != Field::Kind::kFlag || text == "true") given.insert(field.name());
  try {
    field.set_text(text);
  } catch (const Error& e) {
    const std::string what = e.what();
    const std::size_t end = what.starts_with("[") ? what.find("] ") : std::string::npos;
    const std::string hint = varies && text.find(',') != std::string::npos
                                 ? fmt::format("; hint: --vary \"{}={}\" tries each", field.name(), text)
                                 : "";
    throw UsageError("--" + field.name(), (end == std::string::npos ? what : what.substr(end + 2)) + hint);
  }
}

void add_option(CLI::App& app, const Field& field, const std::shared_ptr<std::set<std::string>>& given, bool varies) {
  if (field.kind() == Field::Kind::kFlag) {
    const auto set = [&](bool value) {
      return [field, value, given](std::int64_t) { set_from_flag(field, value ? "true" : "false", *given); };
    };
    const bool on = field.text() == "true";
    // A flag takes no value: "--quiet=no" would turn it on.
    app.add_flag_function(
           flags_of(field), set(true),
           on ? fmt::format("{} (the default; --no-{} turns it off)", field.help(), field.name()) : field.help())
        ->disable_flag_override();
    // Named in the help only where it changes something, but taken everywhere: one command line serves for several
    // tasks.
    app.add_flag_function("--no-" + field.name(), set(false))->disable_flag_override()->group("");
    return;
  }
  app.add_option_function<std::string>(
         flags_of(field),
         [field, given, varies](const std::string& text) { set_from_flag(field, text, *given, varies); }, field.help())
      ->take_last()
      ->type_name(metavar_of(field))
      ->default_str(field.text());
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Field& field : command.options.list()) {
    names.push_back("--" + field.name());
    for (const std::string& alias : field.aliases()) names.push_back((alias.size() == 1 ? "-" : "--") + alias);
  }
  return names;
}
bool has_option(const Command& command, const std::string& option) {
  const std::vector<std::string> names = option_names(command);
  if (std::ranges::find(names, option) != names.end()) return true;
  return std::ranges::any_of(command.options.list(), [&](const Field& field) {
    return field.kind() == Field::Kind::kFlag && option == "--no-" + field.name();
  });
}

// `outer`: the command that this one belongs to, or null.
void refuse_extra(const Command& command, const Command* outer, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    const std::vector<std::string> names = option_names(command);
    const std::string given = word.substr(0, word.find('='));
    if (outer && has_option(*outer, given))
      throw UsageError(given, fmt::format("it goes with \"{}\" alone, without \"{}\"", outer->name, command.name));
    for (const Command& inner : command.commands)
      if (has_option(inner, given))
        throw UsageError(
            given, fmt::format("it belongs to a {0} and goes after its name, as in \"{1} {2} {3}\"; \"{1}\" alone "
                               "does not take it",
                               command.what_it_takes, command.name, inner.name, given));
    const std::string nearest = nearest_word(given, names);
    throw UsageError(given,
                     nearest.empty() ? "no such option" : fmt::format("no such option; did you mean {}?", nearest));
  }
  if (command.unknown) command.unknown(word);
  std::vector<std::string> names;
  for (const Command& inner : command.commands) names.push_back(inner.name);
  const std::string got = fmt::format("got \"{}\", expected ", word);
  if (names.empty()) throw UsageError(command.name, got + "nothing more");
  const std::string all = fmt::format(" ({})", fmt::join(names, ", "));
  if (!outer) names.emplace_back("help");
  const std::string nearest = nearest_word(word, names);
  throw UsageError(outer ? command.name : "command",
                   got + "a " + command.what_it_takes + (nearest.empty() ? all : "; did you mean " + nearest + "?"));
}

using Levels = std::map<const CLI::App*, const Command*>;

// Words and options before the name of an inner command would have no effect.
void refuse_before(const CLI::App& inner, const Levels& levels) {
  const CLI::App* outer = inner.get_parent();
  if (!outer) return;
  refuse_before(*outer, levels);
  const Command& command = *levels.at(outer);
  const std::vector<std::string> extra = outer->remaining();
  if (!extra.empty() && !extra.front().starts_with('-'))
    refuse_extra(command, outer->get_parent() ? levels.at(outer->get_parent()) : nullptr, extra.front());
  if (extra.empty() && command.given->empty()) return;
  const std::string option =
      extra.empty() ? "--" + *command.given->begin() : extra.front().substr(0, extra.front().find('='));
  if (!has_option(*levels.at(&inner), option)) refuse_extra(*levels.at(&inner), &command, option);
  throw UsageError(option, fmt::format("it stands before \"{}\"; options go after it", inner.get_name()));
}

void build(CLI::App& app, const Command& command, Levels& levels, int& exit_code) {
  levels[&app] = &command;
  app.footer(command.footer);
  for (const Argument& argument : command.arguments) {
    CLI::Option* option = app.add_option(argument.name, *argument.value, argument.help);
    option->type_name("")->required(argument.required);
  }
  const bool varies = has_option(command, "--vary");
  for (const Field& field : command.options.list()) add_option(app, field, command.given, varies);
  for (const Command& inner : command.commands) {
    CLI::App* sub = app.add_subcommand(inner.name, inner.summary);
    std::string group = command.what_it_takes + "s";
    group[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(group[0])));
    sub->group(group);
    build(*sub, inner, levels, exit_code);
  }
  app.require_subcommand(0, 1);
  app.allow_extras();  // set last, because commands inherit it: what is left over is named by refuse_extra
  app.callback([&app, &command, &levels, &exit_code] {
    if (!app.get_subcommands().empty()) return;
    refuse_before(app, levels);
    const std::vector<std::string> extra = app.remaining();
    const Command* outer = app.get_parent() ? levels.at(app.get_parent()) : nullptr;
    if (!extra.empty()) refuse_extra(command, outer, extra.front());
    if (!command.run)
      throw UsageError(outer ? command.name : "command",
                       fmt::format("got no {}, expected one; --help lists them", command.what_it_takes));
    if (program_ranks() && !program_ranks()->first() && !command.over_ranks) return;  // rank 0 alone does it
    shared_work = command.over_ranks;
    exit_code = command.run();
  });
}

// The command that the words have come to.
const Command& command_named(const CLI::App& app, const Levels& levels) {
  const std::vector<CLI::App*> inner = app.get_subcommands();
  return inner.empty() ? *levels.at(&app) : command_named(*inner.front(), levels);
}

// What the library says of a missing argument or value names neither what is expected nor where.
[[noreturn]] void refuse_missing(const Command& command) {
  for (const Argument& argument : command.arguments)
    if (argument.required && argument.value->empty())
      throw UsageError(command.name, fmt::format("got no {}, expected {}", argument.name, argument.help));
  throw UsageError(command.name, "got too few words");
}
[[noreturn]] void refuse_value(const CLI::ArgumentMismatch& mismatch) {
  const std::string_view said = mismatch.what();
  const std::size_t end = said.find_first_of(": ");
  const std::string option(said.substr(0, end));
  if (said[end] == ':') throw UsageError(option, "got nothing after it, expected a value");
  throw UsageError("--" + option, fmt::format("got a value, expected none: --{0} turns it on, --no-{0} off", option));
}

// "help train" is "train --help"; a command that is not there is named.
std::vector<std::string> with_help_last(const Command& program, std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  const Command* at = &program;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(at->commands, word, &Command::name);
    if (found == at->commands.end()) refuse_extra(*at, at == &program ? nullptr : &program, word);
    at = &*found;
  }
  words.push_back("--help");
  return words;
}

}  // namespace

int run_command_line(const Command& program, const std::string& version, int argc, char** argv) {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", version);
  int exit_code = kDone;
  Levels levels;
  try {
    build(app, program, levels, exit_code);
    std::vector<std::string> words = with_help_last(program, {argv + std::min(argc, 1), argv + argc});
    std::ranges::reverse(words);  // as the library takes them
    try {
      app.parse(std::move(words));
    } catch (const CLI::RequiredError&) {
      refuse_missing(command_named(app, levels));
    } catch (const CLI::ArgumentMismatch& mismatch) {
      refuse_value(mismatch);
    }
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);  // never throws; run_program looks at what became of it
    return kDone;
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --version
  } catch (const CLI::ParseError& e) {
    return complain(fmt::format("{}; try --help", e.what()), kUsage);
  } catch (const UsageError& e) {
    return complain(fmt::format("{}; try --help", e.what()), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::filesystem::filesystem_error& e) {  // a path that the library did not look at with care
    return complain(fmt::format("\"{}\": {}", e.path1().string(), e.code().message()), kFailed);
  } catch (const std::system_error& e) {
    // A reader of our output that has seen enough, such as head, needs no word.
    return e.code() == std::errc::broken_pipe ? kFailed : complain(e.what(), kFailed);
  } catch (const std::exception& e) {  // espalier::Error and what the system throws
    return complain(e.what(), kFailed);
  }
}

void add_threads(Fields& options, int& threads) {
  options.add("threads", threads, "worker threads; 0 = all cores. Results do not depend on it", 0, 1024);
}

void add_rank_timeout(Fields& options, double& seconds) {
  options.add("rank-timeout", seconds, "under mpirun: seconds after which a rank that does not answer ends the job", 1,
              1e9);
}

void add_json(Fields& options, bool& json) { options.add("json", json, "print one JSON object on standard output"); }

}  // namespace espalier::app
