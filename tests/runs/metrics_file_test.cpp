// metrics.csv: lines that belong to the checkpoint, and damage that shows.
#include "runs/metrics_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Toy {
  Toy() : trainer(objective, {.steps = 40, .eval_every = 10}, pool) {}
  ThreadPool pool{1};
  ToyObjective objective;
  Trainer trainer;
};

TEST(Metrics, AKillBeforeOrInTheFirstLineLeavesAHeaderToBeWritten) {
  for (const char* left : {"", "step,sec", "step,seconds,loss"}) {
    const TempFolder temp;
    Toy toy;
    toy.trainer.evaluate();
    const Folder folder(temp.path());
    std::ofstream(temp / "metrics.csv") << left;
    trim_metrics(folder, 0, {});
    append_metrics(folder, toy.trainer.state());
    EXPECT_TRUE(read_text(temp / "metrics.csv").starts_with("step,seconds,loss,score,")) << left;
  }
}

TEST(Metrics, ALongFileIsCutFromItsEnd) {
  const TempFolder temp;
  const Folder folder(temp.path());
  std::string text, kept;
  MetricsSeal seal, of_kept, of_two;
  for (int step = 0; step <= 120'000; ++step) {
    const std::string line = step == 0 ? "step,seconds,loss,score,validation_loss,passed"
                                       : std::to_string(10 * step) + ",0.123,0.456789,0.987654321,0.25,0";
    text += line + "\n";
    seal.add(line);
    if (step == 1) of_two = seal;
    if (step == 119'990) kept = text, of_kept = seal;
  }
  ASSERT_GT(text.size(), 4u << 20);
  for (const char* last : {"", "9", "1200010,0.1,\xff\xfe\x80", "1200010,0.1,0.2,0.3\n1200020,", "nonsense"}) {
    write_atomically(temp / "metrics.csv", std::string_view(text + last));
    trim_metrics(folder, 1'199'900, of_kept);
    EXPECT_EQ(fs::file_size(temp / "metrics.csv"), kept.size());
    EXPECT_EQ(read_text(temp / "metrics.csv"), kept);
  }
  // Far from the end: over many blocks.
  write_atomically(temp / "metrics.csv", std::string_view(text));
  trim_metrics(folder, 10, of_two);
  EXPECT_EQ(read_text(temp / "metrics.csv"), text.substr(0, text.find("20,")));
}

TEST(Metrics, AHoleOfManyGigabytesIsNotReadWhole) {
  const TempFolder temp;
  const Folder folder(temp.path());
  std::ofstream(temp / "metrics.csv") << "step\n1,2\n";
  fs::resize_file(temp / "metrics.csv", std::uintmax_t{1} << 36);
  EXPECT_THAT(message_of<Error>([&] { trim_metrics(folder, 1, {}); }), HasSubstr("metrics.csv"));
}

TEST(Metrics, APipeInTheirPlaceIsRefusedAndDoesNotHang) {
  const TempFolder temp;
  const Folder folder(temp.path());
  ASSERT_EQ(mkfifo((temp / "metrics.csv").c_str(), 0600), 0);
  EXPECT_THAT(message_of<Error>([&] { trim_metrics(folder, 1, {}); }), HasSubstr("plain file"));
}

TEST(Metrics, ALinkInTheirPlaceIsRefusedByThatNameAndItsFileStaysWhole) {
  const TempFolder temp;
  const Folder folder(temp.path());
  std::ofstream(temp / "precious") << "step\n1,2\n2,3\n";
  fs::create_symlink("precious", temp / "metrics.csv");
  EXPECT_THAT(message_of<Error>([&] { trim_metrics(folder, 1, {}); }), HasSubstr("a link"));
  EXPECT_EQ(read_text(temp / "precious"), "step\n1,2\n2,3\n");
}

// --- The seal.

// The file of a whole training, the seal of it, and that of its first two rows.
struct Sealed {
  Sealed() {
    toy.trainer.run([&](const Trainer& t, bool evaluated) {
      if (!evaluated) return true;
      append_metrics(folder, t.state());
      seal.add_row(t.state());
      if (t.state().step == 20) until_20 = seal;
      return true;
    });
    text = read_text(temp / "metrics.csv");
  }
  void put(const std::string& changed) const { write_atomically(temp / "metrics.csv", std::string_view(changed)); }
  std::string now() const { return read_text(temp / "metrics.csv"); }
  std::string line(int number) const {  // with its end
    std::size_t at = 0;
    for (int i = 0; i < number; ++i) at = text.find('\n', at) + 1;
    return text.substr(at, text.find('\n', at) + 1 - at);
  }

  TempFolder temp;
  Folder folder{temp.path()};
  Toy toy;
  MetricsSeal seal, until_20;
  std::string text;
};

TEST(MetricsSeal, UndamagedFilesAreCutToTheLinesOfTheCheckpointAndNothingIsSaid) {
  const Sealed s;
  EXPECT_EQ(s.seal.lines, 5u) << "a header and four evaluations\n" << s.text;
  EXPECT_TRUE(s.text.starts_with("step,seconds,loss,score,validation_loss,passed,error\n10,")) << s.text;
  for (const char* more : {"", "5", "50,0,0,0,0,0,0\n"}) {
    s.put(s.text + more);
    const MetricsCheck whole = trim_metrics(s.folder, 40, s.seal);
    EXPECT_EQ(whole.damage, "");
    EXPECT_EQ(whole.seal, s.seal);
    EXPECT_EQ(whole.cut, *more ? 1u : 0u);
    EXPECT_EQ(s.now(), s.text);
  }
  const MetricsCheck cut = trim_metrics(s.folder, 20, s.until_20);
  EXPECT_EQ(cut.damage, "");
  EXPECT_EQ(cut.seal, s.until_20);
  EXPECT_EQ(s.now(), s.line(0) + s.line(1) + s.line(2));
  EXPECT_FALSE(fs::exists(s.temp / "metrics-damaged.csv"));
}

// An evaluation that was cancelled is made again after a resume: its step alone does not tell whether a row is new.
TEST(MetricsSeal, ARowOfTheCheckpointsOwnStepThatCameAfterItIsCutOff) {
  const Sealed s;
  MetricsSeal before;
  before.add(s.line(0).substr(0, s.line(0).size() - 1));
  before.add(s.line(1).substr(0, s.line(1).size() - 1));
  const MetricsCheck check = trim_metrics(s.folder, 20, before);
  EXPECT_EQ(check.damage, "");
  EXPECT_EQ(s.now(), s.line(0) + s.line(1));
}

TEST(MetricsSeal, AnyChangedByteIsToldOf) {
  const Sealed s;
  for (std::size_t at = 0; at < s.text.size(); ++at) {
    std::string changed = s.text;
    changed[at] = changed[at] == '7' ? '8' : '7';
    s.put(changed);
    EXPECT_THAT(trim_metrics(s.folder, 40, s.seal).damage, HasSubstr("metrics.csv")) << at;
  }
}

TEST(MetricsSeal, RowsThatAreWholeAreKeptAndTheFileAsItWasToo) {
  const Sealed s;
  const std::string damaged = s.line(0) + s.line(1) + "\xff\xfe nonsense\n" + s.line(3) + "20,1,2\n" + s.line(4);
  s.put(damaged);
  const MetricsCheck check = trim_metrics(s.folder, 40, s.seal);
  EXPECT_THAT(check.damage, HasSubstr("3 rows are kept"));
  EXPECT_EQ(s.now(), s.line(0) + s.line(1) + s.line(3) + s.line(4));
  EXPECT_EQ(read_text(s.temp / "metrics-damaged.csv"), damaged);
  // As it is now it is sealed, so the same is not told again.
  EXPECT_EQ(trim_metrics(s.folder, 40, check.seal).damage, "");
}

TEST(MetricsSeal, ADamagedHeaderCostsNoRow) {
  const Sealed s;
  s.put("\xff\xfe" + s.text.substr(2));
  const MetricsCheck check = trim_metrics(s.folder, 40, s.seal);
  EXPECT_THAT(check.damage, HasSubstr("4 rows are kept"));
  EXPECT_EQ(s.now(), "step,seconds,loss,score,validation_loss,passed,column-7\n" + s.text.substr(s.line(0).size()));
  EXPECT_EQ(trim_metrics(s.folder, 40, check.seal).damage, "");
}

TEST(MetricsSeal, OneThatIsEmptiedGoneOrBegunAnewIsToldOf) {
  const Sealed s;
  s.put("");
  EXPECT_THAT(trim_metrics(s.folder, 40, s.seal).damage, HasSubstr("0 of the 5 lines"));
  EXPECT_FALSE(fs::exists(s.temp / "metrics.csv"));
  EXPECT_THAT(trim_metrics(s.folder, 40, s.seal).damage, HasSubstr("is gone"));
  s.put(s.line(0) + s.line(4));  // emptied in the middle of the training
  EXPECT_THAT(trim_metrics(s.folder, 40, s.seal).damage,
              HasSubstr("2 of the 5 lines that were written; 1 rows are kept"));
  EXPECT_EQ(s.now(), s.line(0) + s.line(4));
  EXPECT_EQ(trim_metrics(s.folder, 40, MetricsSeal()).damage, "") << "nothing was written yet";
}

}  // namespace
}  // namespace espalier
