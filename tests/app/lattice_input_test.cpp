// What the lattice tasks refuse: one clear line, before any work starts and before any folder is made.
#include "app/program.hpp"
#include "base/image.hpp"
#include "codecs.hpp"

namespace espalier {
namespace {

struct Refused {
  Arguments arguments;
  int exit_code;
  std::vector<std::string> words;
};

TEST(LatticeInput, IsRefusedBeforeAnyWork) {
  const TempFolder folder;
  std::ofstream(folder / "letters.txt") << "..#\n.?.\n";
  std::ofstream(folder / "photo.jpg") << "\xFF\xD8\xFF\xE0 and more";
  std::ofstream(folder / "moving.gif") << "GIF89a";
  std::ofstream(folder / "ragged.txt") << "....\n..\n";
  std::ofstream(folder / "glider.rle") << "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n";
  write_png(folder / "gray.png", Image(4, 4, {90, 90, 90}));
  const std::vector<std::uint8_t> bits(4);
  write_npz(folder / "starts.npz", {{"start", numpy_array({1, 2, 2}, bits)}});
  write_npz(folder / "wide.npz", {{"start", numpy_array({1, 1, 1, 20}, std::vector<std::uint8_t>(20))},
                                  {"target", numpy_array({1, 1, 1}, std::vector<std::uint8_t>(1))}});
  std::ofstream(folder / "bad.jsonl") << "{}\n";
  const std::string letter = test::source_dir() + "/data/targets/letter-g-16.txt";
  const Refused all[] = {
      {{"pattern"}, 1, {"no target", "the option \"target\""}},
      {{"pattern", "--target", folder / "absent.txt"}, 1, {"absent.txt"}},
      {{"pattern", "--target", folder / "letters.txt"}, 1, {"'?'", "line 2, column 2"}},
      {{"pattern", "--target", folder / "photo.jpg"}, 1, {"photo.jpg", "a JPEG", "as PNG"}},
      {{"pattern", "--target", folder / "moving.gif"}, 1, {"a GIF"}},
      {{"pattern", "--target", folder / "ragged.txt"}, 1, {"line 2", "expected 4"}},
      {{"pattern", "--target", letter, "--height", "10", "--width", "10"}, 1, {"16 x 16", "10 x 10"}},
      {{"pattern", "--target", letter, "--channels", "2"}, 1, {"2 channels", "at least 3"}},
      {{"pattern", "--target", folder / "gray.png"}, 1, {"gray.png", "brighter than half"}},
      {{"pattern", "--target", folder / "glider.rle"}, 1, {"glider.rle", "an RLE pattern", ".png", ".txt"}},
      {{"pattern", "--target", folder / "starts.npz"}, 1, {"a NumPy file", ".png", ".txt"}},
      {{"boards", "--data", folder / "starts.npz"}, 1, {"no array \"target\" in", "starts.npz", "the file has start"}},
      {{"boards", "--data", folder / "wide.npz"}, 1, {"8 channels", "at least 20, those of the start"}},
      {{"simplify", "--data", folder / "bad.jsonl"}, 1, {"line 1 of", "bad.jsonl"}},
      {{"rule"}, 1, {"neither a rule nor a table", "options \"rule\" and \"table\""}},
      {{"table"}, 1, {"no CSV file", "the option \"csv\""}},
      {{"letter", "--channels", "2"}, 1, {"at least 3"}},
      {{"letter", "--height", "8"}, 1, {"8 x 16"}},
      {{"checkerboard", "--update", "256,8,1"}, 1, {"a last layer of 8 gates"}},
      {{"checkerboard", "--update", "16,8"}, 1, {"264 -> 16"}},
      {{"checkerboard", "--update", "1000000,8"}, 1, {"number of pairs"}},
      {{"checkerboard", "--update", "8x0"}, 2, {"--update: got \"0\" in \"8x0\"", "whole numbers"}},
      {{"checkerboard", "--update", ""}, 2, {"--update"}},
      {{"lizard", "--perceive", "9,4"}, 1, {"a first layer of 8 gates"}},
      {{"checkerboard", "--height", "0"}, 1, {"grids of 0 x 16"}},
      {{"checkerboard", "--height", "100000", "--width", "100000"}, 1, {"100000 x 100000", "cells in all"}},
      {{"checkerboard", "--height", "8192", "--width", "4096"}, 1, {"at most 16 GiB"}},
      {{"letter", "--seed-row", "3"}, 1, {"both a row and a column"}},
      {{"checkerboard", "--update", "256x100000000,8"}, 2, {"from 1 to 1000000"}},
      {{"checkerboard", "--seed", "-1"}, 2, {"--seed", "-1", "0 to 18446744073709551615"}},
      {{"checkerboard", "--seed", "99999999999999999999999"}, 2, {"9999, expected 0 to 18446744073709551615"}},
      {{"checkerboard", "--train-steps", "2000000000"}, 2, {"got 2000000000, expected 0 to 1000000000"}},
      {{"checkerboard", "--steps", "0"}, 1, {"0 steps"}},
      {{"life", "--channels", "0"}, 2, {"--channels"}},
      {{"life", "--kernels", "100000"}, 2, {"--kernels"}},
      {{"life", "--fire-rate", "2"}, 2, {"--fire-rate"}},
  };
  for (const Refused& refused : all) {
    Arguments arguments{"train"};
    arguments.insert(arguments.end(), refused.arguments.begin(), refused.arguments.end());
    arguments.insert(arguments.end(), {"--out", folder / "run"});
    SCOPED_TRACE(refused.arguments.front() + " " + refused.arguments.back());
    expect_one_line(run(arguments), refused.exit_code, refused.words);
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

}  // namespace
}  // namespace espalier
