// Every command of the README runs. Training is cut to a few steps: what counts here is that the commands, their
// options and the files they hand to each other are as written.
#include <sys/stat.h>

#include <sstream>

#include "app/program.hpp"

namespace espalier {
namespace {

std::vector<std::string> readme_commands() {
  std::istringstream readme(text_of(test::source_dir() + "/README.md"));
  std::vector<std::string> commands;
  bool in_shell = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```"))
      in_shell = line == "```sh";
    else if (in_shell && !line.empty() && !line.starts_with("#"))
      commands.push_back(line.substr(0, line.find(" #")));
  }
  return commands;
}

TEST(Readme, EveryCommandRuns) {
  const std::string program = "build/release/espalier";
  const TempFolder folder;
  std::filesystem::create_directory_symlink(test::source_dir() + "/data", folder / "data");
  int ran = 0;
  for (std::string command : readme_commands()) {
    if (command.starts_with("script/")) {
      const std::string script = test::source_dir() + "/" + command.substr(0, command.find(' '));
      EXPECT_EQ(access(script.c_str(), X_OK), 0) << command;
      continue;
    }
    ASSERT_TRUE(command.starts_with(program + " ")) << "a command this test does not know: " << command;
    if (command.find(" train ") != std::string::npos && command.find("--list") == std::string::npos &&
        command.find("--help") == std::string::npos && command.find("--resume") == std::string::npos)
      command += " --train-steps 3 --budget 0";  // the last of an option counts
    if (command.find(" bench") != std::string::npos && command.find("--signature") == std::string::npos)
      command += " --list";
    command = "cd " + folder.path() + " && " + test::program_path() + command.substr(program.size()) + " >out.txt 2>&1";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 0) << command << "\n" << text_of(folder / "out.txt");
    ++ran;
  }
  EXPECT_GE(ran, 5);
}

}  // namespace
}  // namespace espalier
