// Files as others write them, and files that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "netlist/circuits.hpp"
#include "synth/formats.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  return message_of<Error>([&] { import_circuit(text, "file"); });
}

TEST(ImportBlif, ReadsCoversOfAnySizeInAnyOrder) {
  const Netlist n = import_blif(
      "# a comment\n.model majority\n.inputs a b \\\n c\n.outputs y z one zero\n"
      ".names t c y\n1- 1\n-1 1\n"                          // before t is defined
      ".names a b t\n11 1\n.names a b c z\n1-0 0\n01- 0\n"  // rows for 0
      ".names one\n1\n.names zero\n.end\nrubbish after the end\n",
      "file");
  EXPECT_EQ(n.name, "majority");
  EXPECT_EQ(n.inputs, (std::vector<std::string>{"a", "b", "c"}));
  for (int p = 0; p < 8; ++p) {
    const bool a = p & 1, b = p & 2, c = p & 4;
    const auto out = evaluate(n, {a, b, c});
    EXPECT_EQ(out[0], (a && b) || c);
    EXPECT_EQ(out[1], !((a && !c) || (!a && b)));
    EXPECT_TRUE(out[2]);
    EXPECT_FALSE(out[3]);
  }
}

TEST(ImportBlif, NamesTheLineOfEveryMistake) {
  const std::string head = ".model m\n.inputs a b\n.outputs y\n";
  EXPECT_THAT(refusal(head + ".names a q y\n11 1\n.end\n"), AllOf(HasSubstr("file:4"), HasSubstr("\"q\"")));
  EXPECT_THAT(refusal(head + ".names a x y\n11 1\n.names y x\n1 1\n"), HasSubstr("cycle"));
  EXPECT_THAT(refusal(head + ".names y y\n1 1\n"), HasSubstr("cycle"));
  EXPECT_THAT(refusal(head + ".end\n"), AllOf(HasSubstr("file:3"), HasSubstr("\"y\"")));
  EXPECT_THAT(refusal(head + ".names a b y\n1 1\n"), AllOf(HasSubstr("file:5"), HasSubstr("columns")));
  EXPECT_THAT(refusal(head + ".names a b y\n111 1\n"), HasSubstr("file:5"));
  EXPECT_THAT(refusal(head + ".names a b y\n1x 1\n"), HasSubstr("file:5"));
  EXPECT_THAT(refusal(head + ".names a b y\n11 1\n00 0\n"), HasSubstr("file:6"));
  EXPECT_THAT(refusal(head + ".names a b y\n11 1\n.names a y\n1 1\n"), HasSubstr("defined again"));
  EXPECT_THAT(refusal(head + ".latch a y\n"), AllOf(HasSubstr("file:4"), HasSubstr("combinational")));
  EXPECT_THAT(refusal(head + ".gate nand2 A=a B=b O=y\n"), HasSubstr("file:4"));
  EXPECT_THAT(refusal(".model m\n.inputs a a\n"), HasSubstr("twice"));
  EXPECT_THAT(refusal(".inputs a\n"), HasSubstr(".model"));
  EXPECT_THAT(refusal(".model m\n1 1\n"), HasSubstr("file:2"));
}

TEST(ImportAiger, ReadsTheExampleOfAHalfAdderInBothForms) {
  const std::string ascii =
      "aag 7 2 0 2 3\n2\n4\n6\n12\n6 13 15\n14 5 3\n12 2 4\ni0 x\ni1 y\no0 sum\no1 carry\nc\nhalf adder\n";
  for (const Netlist& n :
       {import_aiger(ascii, "file"), import_aiger(export_aiger_binary(import_aiger(ascii, "file")), "file")}) {
    EXPECT_EQ(n.inputs, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(n.outputs[1].name, "carry");
    for (const bool x : {false, true})
      for (const bool y : {false, true}) EXPECT_EQ(evaluate(n, {x, y}), (std::vector<bool>{x != y, x && y}));
  }
}

TEST(ImportAiger, NamesThePlaceOfEveryMistake) {
  EXPECT_THAT(refusal("aag 3 2 0 1 1\n2\n4\n6\n6 2 8\n"), AllOf(HasSubstr("file:5"), HasSubstr("literal 8")));
  EXPECT_THAT(refusal("aag 4 2 0 1 1\n2\n4\n6\n6 2 8\n"), AllOf(HasSubstr("file:5"), HasSubstr("nothing defines")));
  EXPECT_THAT(refusal("aag 4 2 0 1 2\n2\n4\n6\n6 2 8\n8 6 4\n"), AllOf(HasSubstr("cycle"), HasSubstr("line")));
  EXPECT_THAT(refusal("aag 3 2 0 1 1\n2\n2\n6\n6 2 4\n"), HasSubstr("defined again"));
  EXPECT_THAT(refusal("aag 3 2 0 1 1\n2\n3\n6\n6 2 4\n"), HasSubstr("file:3"));
  // One input more than declared: its line is taken for the output, and the next for a gate.
  EXPECT_THAT(refusal("aag 4 2 0 1 1\n2\n4\n6\n8\n8 2 4\n"), AllOf(HasSubstr("file:5"), HasSubstr("numbers")));
  EXPECT_THAT(refusal("aag 3 2 0 1 1\n2\n4\n6\n"), HasSubstr("cut short"));
  EXPECT_THAT(refusal("aag 3 2 0 1 1\n2\n4\n6\n6 2 4\ni2 extra\n"), AllOf(HasSubstr("file:6"), HasSubstr("symbol")));
  EXPECT_THAT(refusal("aag 3 1 1 1 1\n2\n4 6\n6\n6 2 4\n"), HasSubstr("latches"));
  EXPECT_THAT(refusal("aag 1000000000 999999999 0 1 1\n2\n"), HasSubstr("bytes"));
  EXPECT_THAT(refusal("aig 4000000000 4000000000 0 0 0\n"), HasSubstr("numbers"));
  EXPECT_THAT(refusal("aig 900000000 900000000 0 0 0\n"), HasSubstr("bytes"));
  EXPECT_THAT(refusal("aag x\n"), HasSubstr("file:1"));
  EXPECT_THAT(refusal("aag 1 2 0 0 0\n2\n4\n"), HasSubstr("variables"));
}

TEST(ImportAiger, EveryTruncationOfABinaryFileIsRefused) {
  const std::string whole = export_aiger_binary(life_cell());
  const std::size_t symbols = whole.find("i0 p0c0");
  ASSERT_NE(symbols, std::string::npos);
  for (std::size_t length = 4; length < symbols; ++length) EXPECT_FALSE(refusal(whole.substr(0, length)).empty());
  EXPECT_EQ(import_aiger(whole.substr(0, symbols), "file").inputs.size(), 9u);
}

TEST(ImportJson, NamesEveryMistake) {
  const std::string good = export_json(life_cell());
  EXPECT_EQ(import_circuit(good, "file"), life_cell());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_THAT(refusal(with("\"version\": 1", "\"version\": 2")), HasSubstr("version 2"));
  EXPECT_THAT(refusal(with("espalier-netlist", "other")), HasSubstr("format"));
  EXPECT_THAT(refusal(with("[6, 0, 1]", "[6, 0, 9]")), AllOf(HasSubstr("gate 0"), HasSubstr("net 9")));  // itself
  EXPECT_THAT(refusal(with("[6, 0, 1]", "[6, 0, 30]")), HasSubstr("topological"));
  EXPECT_THAT(refusal(with("[6, 0, 1]", "[16, 0, 1]")), HasSubstr("gate 0"));
  EXPECT_THAT(refusal(with("[6, 0, 1]", "[6, -1, 1]")), HasSubstr("gate 0"));
  EXPECT_THAT(refusal(with("[6, 0, 1]", "[6, 0]")), HasSubstr("gate 0"));
  EXPECT_THAT(refusal(with("\"net\": 34", "\"net\": 35")), HasSubstr("net 35"));
  EXPECT_THAT(refusal(with("\"p0c0\"", "7")), HasSubstr("input 0"));
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)), HasSubstr("file"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("file"));
}

TEST(Import, RefusesWhatIsNoCircuit) {
  EXPECT_THAT(refusal(""), HasSubstr("unknown"));
  EXPECT_THAT(refusal("hello"), HasSubstr("unknown"));
  EXPECT_THAT(refusal(std::string(10, '\0')), HasSubstr("unknown"));
}

}  // namespace
}  // namespace espalier
