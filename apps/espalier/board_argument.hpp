// Sizes and other whole numbers on the command line.
#pragma once

#include <string>
#include <vector>

#include "espalier/lattice_model.hpp"

namespace espalier::app {

inline constexpr int kMaxSide = 4096;         // of boards that are looked at
inline constexpr int kMaxUnseen = 1'000'000;  // of boards that are only counted

// "1,2,3"; a UsageError for anything that is not a whole number.
std::vector<long> numbers(const std::string& option, const std::string& text, char separator);

struct BoardSize {
  int height, width;
};
BoardSize parse_board_size(const std::string& option, const std::string& text, int most = kMaxSide);  // N or HxW
// The one on which the model is best looked at when the text is empty.
BoardSize board_size(const std::string& option, const std::string& text, const LatticeModel& model,
                     int most = kMaxSide);

}  // namespace espalier::app
