// Configurations: the same object from the command line, config.json and a model file.
#include "runs/config.hpp"

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

std::string error_of(const Json& config) {
  return message_of<Error>([&] { checked_config(config); });
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(Config, DefaultsOfEveryTaskAreValidAndComplete) {
  ASSERT_FALSE(all_tasks().empty());
  for (const auto& task : all_tasks()) {
    const Json config = default_config(*task);
    EXPECT_EQ(checked_config(config), config) << task->name();
    EXPECT_EQ(checked_config({{"task", task->name()}}), config) << task->name();
    EXPECT_EQ(parse_config(config.dump(), "text"), config) << task->name();
    for (const TaskOption& option : all_options(*task)) {
      EXPECT_TRUE(config.contains(option.name)) << option.name;
      EXPECT_FALSE(option.help.empty()) << task->name() << " --" << option.name;
    }
    EXPECT_NO_THROW(train_options(config)) << task->name();
  }
}

TEST(Config, ATaskOverridesDefaultsButNotTheHelpOfSharedOptions) {
  const Json small = default_config(find_task("checkerboard-small"));
  const auto options = all_options(find_task("checkerboard-small"));
  int epochs = 0;
  for (const TaskOption& option : options)
    if (option.name == "epochs") {
      ++epochs;
      EXPECT_EQ(option.help, "optimizer steps");
      EXPECT_EQ(option.value, small.at("epochs"));
    }
  EXPECT_EQ(epochs, 1);
}

TEST(Config, ValuesGivenAreKept) {
  const Json config =
      checked_config({{"task", "checkerboard-small"}, {"seed", 7}, {"lr", 0.125}, {"epochs", 3}, {"optimizer", "sgd"}});
  EXPECT_EQ(config_seed(config), 7u);
  const TrainOptions o = train_options(config);
  EXPECT_EQ(o.epochs, 3u);
  EXPECT_EQ(o.schedule.lr, 0.125);
  EXPECT_EQ(o.optimizer.kind, OptimizerKind::kSgd);
}

TEST(Config, WholeNumbersServeAsNumbersButNotTheOtherWayRound) {
  EXPECT_EQ(checked_config({{"task", "life"}, {"lr", 1}}).at("lr"), 1);
  expect_words(error_of({{"task", "life"}, {"epochs", 1.5}}), {"--epochs", "1.5", "whole number"});
}

TEST(Config, WrongValuesNameTheOptionAndWhatIsExpected) {
  expect_words(error_of({{"task", "life"}, {"epochs", "many"}}), {"--epochs", "many", "whole number"});
  expect_words(error_of({{"task", "life"}, {"epochs", -1}}), {"--epochs", "-1"});
  expect_words(error_of({{"task", "life"}, {"lr", 1e9}}), {"--lr"});
  expect_words(error_of({{"task", "life"}, {"optimizer", "magic"}}), {"--optimizer", "magic", "adamw"});
  expect_words(error_of({{"task", "life"}, {"until-solved", 1}}), {"--until-solved", "true or false"});
  expect_words(error_of({{"task", "life"}, {"seed", -1}}), {"--seed", "-1"});
  expect_words(error_of({{"task", "life"}, {"seed", "x"}}), {"--seed", "x"});
  expect_words(error_of({{"task", "life"}, {"no-such", 1}}), {"no-such", "--help"});
}

TEST(Config, WithoutAKnownTaskThereIsNone) {
  expect_words(error_of(Json::array()), {"task"});
  expect_words(error_of(Json::object()), {"task"});
  expect_words(error_of({{"task", 5}}), {"task"});
  expect_words(error_of({{"task", "lyfe"}}), {"lyfe", "did you mean life?"});
  EXPECT_NE(message_of<Error>([] { parse_config("{", "the file"); }).find("the file"), std::string::npos);
}

}  // namespace
}  // namespace espalier
