// What is named on the command line: models, tables, sizes and other whole numbers.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "espalier/dag_nn.hpp"
#include "espalier/lattice_model.hpp"

namespace espalier::app {

inline constexpr int kMaxSide = 4096;         // of boards that are looked at
inline constexpr int kMaxUnseen = 1'000'000;  // of boards that are only counted

// "1,2,3"; a UsageError for anything that is not a whole number. The range is the caller's to check.
std::vector<long> numbers(const std::string& option, const std::string& text, char separator);

// Options that were given though nothing looks at them: a UsageError for the first, which says why or when one does.
void refuse_given(const std::set<std::string>& given, const std::vector<std::string>& options, const std::string& why);

struct BoardSize {
  int height, width;
};
BoardSize parse_board_size(const std::string& option, const std::string& text, int most = kMaxSide);  // N or HxW
// The one on which the model is best looked at when the text is empty.
BoardSize board_size(const std::string& option, const std::string& text, const LatticeModel& model,
                     int most = kMaxSide);

// A file, or the folder of a run.
std::unique_ptr<LatticeModel> load_lattice_model(const std::string& path);
// A table from a file, or from standard input when it is "-".
CsvTable read_csv(const std::string& path);

// Words that a table model was not trained on are refused, or allowed and then told on standard error.
void add_allow_unknown(Fields& options, bool& allow, const std::string& more = "");
inline UnknownWords unknown_words(bool allow) { return allow ? UnknownWords::kAllow : UnknownWords::kRefuse; }
// By row, the columns that have such a word, separated by blanks; empty when no row has any.
std::vector<std::string> told_unknown_words(const RowModel& model, const CsvTable& table);

}  // namespace espalier::app
