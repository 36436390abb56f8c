// Commands as data: arguments, options (the same Fields that the library's settings are made of) and what to run.
// The parser itself is in command_line.cpp alone.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "espalier/fields.hpp"

namespace espalier::app {

// kRefuted: what was to be proved is not so. kWeaker: nor is it proved, but something weaker is.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kUnsolved = 3, kRefuted = 4, kWeaker = 5, kInterrupted = 130 };

// Wrong usage: one line and exit code kUsage.
class UsageError : public std::runtime_error {
 public:
  UsageError(const std::string& option, const std::string& what) : std::runtime_error(option + ": " + what) {}
};

struct Argument {
  std::string name;
  std::string* value;
  std::string help;
  bool required = true;
};

struct Command {
  std::string name, summary;
  std::vector<Argument> arguments = {};
  Fields options = {};
  std::string footer = {};
  std::function<int()> run = {};  // empty: one of the commands below must be named
  bool over_ranks = false;        // run on all ranks; otherwise rank 0 works alone
  std::vector<Command> commands = {};
  std::string what_it_takes = "command";  // what the commands below are called
  // For a word that names none of the commands: throws an Error that says so.
  std::function<void(const std::string& word)> unknown = {};
  std::shared_ptr<void> keeps = {};  // what options and arguments point into
  std::shared_ptr<std::set<std::string>> given = std::make_shared<std::set<std::string>>();  // options that were named

  // Options and arguments are members of `flags`, and the work is done with them.
  template <class Flags, class Work>
  Command with(const std::shared_ptr<Flags>& flags, Work work) && {
    keeps = flags;
    run = [flags, work] { return static_cast<int>(work(*flags)); };
    return std::move(*this);
  }
};

// Parses, runs one command, and turns errors into one line and an exit code.
int run_command_line(const Command& program, const std::string& version, int argc, char** argv);

// Options that many commands have.
void add_threads(Fields& options, int& threads);
void add_rank_timeout(Fields& options, double& seconds);
void add_json(Fields& options, bool& json);

}  // namespace espalier::app
