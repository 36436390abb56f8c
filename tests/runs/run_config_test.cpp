// Settings of a run: the same from the command line, config.json and a program's code.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "places.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

RunConfig parse(const Json& config) { return RunConfig::parse(config.dump(), "the config", all_tasks()); }
std::string error_of(const Json& config) {
  return message_of<Error>([&] { parse(config); });
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(RunConfig, DefaultsOfEveryTaskAreValidAndComplete) {
  ASSERT_FALSE(all_tasks().empty());
  for (const Task& task : all_tasks()) {
    RunConfig config(task);
    const Json object = Json::parse(config.text());
    const Fields fields = config.fields();
    EXPECT_EQ(object.size(), fields.list().size() + 2) << task.name << ": a name occurs twice";
    for (const Field& field : fields.list()) {
      EXPECT_TRUE(object.contains(field.name())) << task.name << " " << field.name();
      EXPECT_FALSE(field.help().empty()) << task.name << " " << field.name();
      Field same = field;
      // Lists of layers refuse to be empty, and a default may be.
      if (!field.text().empty()) {
        EXPECT_NO_THROW(same.set_text(field.text())) << task.name << " " << field.name();
      }
    }
    EXPECT_FALSE(task.summary.empty());
  }
}

// A config that somebody wrote by hand may name a boundary that healing would change. Its run goes on by that text.
TEST(RunConfig, ABoundaryThatWasChosenIsCheckedAndOneThatWasWrittenIsNot) {
  const TempFolder folder;
  write_atomically(folder / "target.txt", std::string_view("##.\n.##\n#..\n"));
  const Json written = {
      {"task", "pattern"}, {"target", folder / "target.txt"}, {"heal", true}, {"boundary", "periodic"}};
  const RunConfig old = parse(written);
  const std::string text = old.text();
  EXPECT_NO_THROW(old.make_objective());
  EXPECT_EQ(old.text(), text);
  RunConfig made = parse(written);
  made.resolve();
  EXPECT_EQ(Json::parse(made.text())["boundary"], "zero");
  RunConfig chosen = parse(written);
  chosen.set("boundary", "periodic");
  const std::string refused = message_of<Error>([&] { chosen.make_objective(); });
  expect_words(refused, {"boundary periodic", "boundary zero"});
  EXPECT_EQ(refused.find("--"), std::string::npos) << refused;
}

TEST(RunConfig, TextReadBackIsTheSameTextForEveryTask) {
  for (const Task& task : all_tasks()) {
    RunConfig config(task);
    EXPECT_EQ(RunConfig::parse(config.text(), "text", all_tasks()).text(), config.text()) << task.name;
    // The name alone means all defaults.
    EXPECT_EQ(parse({{"task", task.name}}).text(), config.text()) << task.name;
    config.seed = 18446744073709551615u;
    config.seeds = 3;
    config.train.schedule.lr = 1.0 / 3;
    config.train.optimizer.beta2 = 0.1f + 0.2f;
    config.train.optimizer.kind = OptimizerKind::kSgd;
    config.train.schedule.kind = ScheduleKind::kStep;
    config.train.until_solved = !config.train.until_solved;
    const RunConfig again = RunConfig::parse(config.text(), "text", all_tasks());
    EXPECT_EQ(again.text(), config.text()) << task.name;
    EXPECT_EQ(again.seed, config.seed);
    EXPECT_EQ(again.train.schedule.lr, config.train.schedule.lr);
    EXPECT_EQ(again.train.optimizer.beta2, config.train.optimizer.beta2);
    EXPECT_EQ(again.train.optimizer.kind, OptimizerKind::kSgd);
    EXPECT_EQ(again.train.schedule.kind, ScheduleKind::kStep);
  }
}

TEST(RunConfig, EveryFieldChangedByNameComesBack) {
  for (const Task& task : all_tasks()) {
    RunConfig config(task);
    Fields fields = config.fields();
    for (Field& field : fields.list()) {
      if (field.kind() == Field::Kind::kFlag) field.set(field.text() != "true");
      for (const std::string& choice : field.choices()) field.set_text(choice);  // the last one stays
      if (field.kind() == Field::Kind::kText && field.choices().empty()) field.set_text("3");
    }
    RunConfig again = RunConfig::parse(config.text(), "text", all_tasks());
    EXPECT_EQ(again.text(), config.text()) << task.name;
    EXPECT_NE(again.text(), RunConfig(task).text()) << task.name;
  }
}

TEST(RunConfig, ValuesGivenAreKept) {
  const RunConfig config =
      parse({{"task", "checkerboard-small"}, {"seed", 7}, {"lr", 0.125}, {"train-steps", 3}, {"optimizer", "sgd"}});
  EXPECT_EQ(config.seed, 7u);
  EXPECT_EQ(config.train.steps, 3u);
  EXPECT_EQ(config.train.schedule.lr, 0.125);
  EXPECT_EQ(config.train.optimizer.kind, OptimizerKind::kSgd);
  EXPECT_EQ(
      configure("checkerboard-small", {{"seed", "7"}, {"lr", "0.125"}, {"train-steps", "3"}, {"optimizer", "sgd"}})
          .text(),
      config.text());
}

TEST(RunConfig, ACopyIsItsOwn) {
  RunConfig first = configure("life", {{"channels", "2"}}), second = first;
  second.set("channels", "3");
  EXPECT_EQ(first.fields().at("channels").text(), "2");
  EXPECT_EQ(second.fields().at("channels").text(), "3");
  first = second;
  first.set("channels", "4");
  EXPECT_EQ(second.fields().at("channels").text(), "3");
  const RunConfig moved = std::move(first);
  EXPECT_EQ(Json::parse(moved.text()).at("channels"), 4);
}

TEST(RunConfig, WholeNumbersServeAsNumbersButNotTheOtherWayRound) {
  EXPECT_EQ(parse({{"task", "life"}, {"lr", 1}}).train.schedule.lr, 1);
  expect_words(error_of({{"task", "life"}, {"train-steps", 1.5}}), {"train-steps", "1.5", "whole number"});
}

TEST(RunConfig, WrongValuesNameTheOptionAndWhatIsExpected) {
  expect_words(error_of({{"task", "life"}, {"train-steps", "many"}}), {"train-steps", "many", "whole number"});
  expect_words(error_of({{"task", "life"}, {"epochs", 3}}), {"epochs", "did you mean train-steps?"});
  expect_words(error_of({{"task", "life"}, {"train-steps", -1}}), {"train-steps", "-1"});
  expect_words(error_of({{"task", "life"}, {"lr", 1e9}}), {"lr", "1000"});
  expect_words(error_of({{"task", "life"}, {"lr", nullptr}}), {"lr", "null"});
  expect_words(error_of({{"task", "life"}, {"lr", Json::array({1})}}), {"lr"});
  expect_words(error_of({{"task", "life"}, {"optimizer", "magic"}}), {"optimizer", "magic", "adamw"});
  expect_words(error_of({{"task", "life"}, {"until-solved", 1}}), {"until-solved", "true or false"});
  expect_words(error_of({{"task", "life"}, {"seed", -1}}), {"seed", "-1"});
  expect_words(error_of({{"task", "life"}, {"seed", "x"}}), {"seed", "x"});
  expect_words(error_of({{"task", "life"}, {"seeds", 0}}), {"seeds", "0"});
  expect_words(error_of({{"task", "life"}, {"no-such", 1}}), {"no-such", "the name of an option"});
  expect_words(error_of({{"task", "life"}, {"chanels", 1}}), {"chanels", "did you mean channels?"});
  for (const char* task : {"life", "table", "simplify"}) {
    const std::string message = error_of({{"task", task}, {"lr", "x"}});
    EXPECT_EQ(message.find("--"), std::string::npos) << "a word of the command line: " << message;
  }
}

TEST(RunConfig, WithoutAKnownTaskThereIsNone) {
  expect_words(error_of(Json::array()), {"task", "the config"});
  expect_words(error_of(Json::object()), {"task"});
  expect_words(error_of({{"task", 5}}), {"task"});
  expect_words(error_of({{"task", "lyfe"}}), {"lyfe", "did you mean life?"});
  expect_words(message_of<Error>([] { RunConfig::parse("{", "the file", all_tasks()); }), {"the file"});
  expect_words(message_of<Error>([] { find_task("chekerboard"); }), {"chekerboard", "did you mean checkerboard?"});
  expect_words(message_of<Error>([] { configure("nothing like it"); }), {"nothing like it"});
  expect_words(message_of<Error>([] { configure("life", {{"lr", "x"}}); }), {"lr", "x"});
}

}  // namespace
}  // namespace espalier
