// The commands of the graph room as a user meets them: rewrite, predict, ged, data, and training from a file.
#include "app/program.hpp"

namespace espalier {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A small model that knows the easiest rules; trained once for all tests of this program.
const std::string& simplify_model() {
  static const TempFolder folder;
  static const std::string path = [] {
    const Ended e = run({"train",
                         "simplify",
                         "--train-steps",
                         "250",
                         "--train-examples",
                         "1500",
                         "--validation-examples",
                         "50",
                         "--test-examples",
                         "0",
                         "--deep-examples",
                         "0",
                         "--features",
                         "24",
                         "--batch-size",
                         "64",
                         "--depth",
                         "3",
                         "--max-number",
                         "3",
                         "--quiet",
                         "--out",
                         folder / "run"});
    EXPECT_EQ(e.exit_code, 0) << e.err;
    return folder / "run/model.safetensors";
  }();
  return path;
}

const std::string& table_model() {
  static const TempFolder folder;
  static const std::string path = [] {
    write(folder / "train.csv",
          "size,colour,kind\n1,red,a\n2,red,a\n1.5,blue,a\n1.2,blue,a\n9,red,b\n8,blue,b\n8.5,red,b\n9.5,blue,b\n"
          "1.1,red,a\n1.9,blue,a\n8.8,red,b\n9.1,blue,b\n");
    const Ended e = run({"train", "table", "--csv", folder / "train.csv", "--target", "kind", "--train-steps", "100",
                         "--quiet", "--out", folder / "run"});
    EXPECT_EQ(e.exit_code, 0) << e.err;
    return folder / "run/model.safetensors";
  }();
  return path;
}

TEST(Rewrite, PrintsEveryPassToTheFixedPointAndChecks) {
  const Ended e = run({"rewrite", simplify_model(), "(+ (* x 1) 0)", "--check"});
  EXPECT_EQ(e.exit_code, 0) << e.out << e.err;
  EXPECT_TRUE(has(e.out, "0  (+ (* x 1) 0)\n")) << e.out;
  EXPECT_TRUE(has(e.out, "  x\n")) << e.out;
  EXPECT_TRUE(has(e.out, "right: the exact engine says x\n")) << e.out;
  const auto j = run({"rewrite", simplify_model(), "(+ (* x 1) 0)", "--check", "--json"}).json();
  EXPECT_EQ(j.at("passes").front(), "(+ (* x 1) 0)");
  EXPECT_EQ(j.at("passes").back(), "x");
  EXPECT_EQ(j.at("exact"), true);
  EXPECT_EQ(j.at("fixed_point"), true);
}

TEST(Rewrite, AWrongModelIsToldBy_Check) {
  const TempFolder folder;
  const Ended trained =
      run({"train", "simplify", "--train-steps", "1", "--train-examples", "50", "--validation-examples", "5",
           "--test-examples", "0", "--deep-examples", "0", "--depth", "2", "--quiet", "--out", folder / "run"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Ended e =
      run({"rewrite", folder / "run/model.safetensors", "(+ (* x 1) (- 0 (^ y 1)))", "--check", "--max-passes", "3"});
  EXPECT_EQ(e.exit_code, 3) << e.out << e.err;
  EXPECT_TRUE(has(e.out, "wrong: the exact engine says")) << e.out;
}

TEST(GraphCommands, TakeTheFolderOfARunForItsModel) {
  const std::string simplify_run = std::filesystem::path(simplify_model()).parent_path().string();
  EXPECT_EQ(run({"rewrite", simplify_run, "(+ x 0)"}).out, run({"rewrite", simplify_model(), "(+ x 0)"}).out);
  const TempFolder folder;
  write(folder / "new.csv", "size,colour\n1.3,red\n9.2,blue\n");
  const std::string table_run = std::filesystem::path(table_model()).parent_path().string();
  EXPECT_EQ(run({"predict", table_run, folder / "new.csv"}).out, "kind\na\nb\n");
  EXPECT_EQ(run({"info", table_run}).exit_code, 0);
  const Ended none = run({"info", folder.path()});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_TRUE(has(none.err, "model.safetensors")) << none.err;
}

TEST(Rewrite, DotDrawsAGraphForEveryPass) {
  const Ended e = run({"rewrite", simplify_model(), "(+ x 0)", "--dot"});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_EQ(e.out.rfind("digraph", 0), 0u) << e.out;
  EXPECT_EQ(e.out.find("digraph", 1), std::string::npos) << e.out;  // one graph, as dot reads one
  EXPECT_TRUE(has(e.out, "pass 0")) << e.out;
  EXPECT_TRUE(has(e.out, "pass 1")) << e.out;
  expect_one_line(run({"rewrite", simplify_model(), "(+ x 0)", "--dot", "--json"}), 2, {"--dot", "--json"});
}

TEST(Rewrite, MistakesAreOneLineWithTheirPlace) {
  expect_one_line(run({"rewrite", simplify_model(), "(+ x"}), 1, {"character 1"});
  expect_one_line(run({"rewrite", simplify_model(), "(+ x 0) y"}), 1, {"character 9"});
  expect_one_line(run({"rewrite", simplify_model(), "(% x 0)"}), 1, {"%"});
  expect_one_line(run({"rewrite", simplify_model(), "(+ wombat 0)"}), 1, {"wombat"});  // a label never seen
  expect_one_line(run({"rewrite", simplify_model(), ""}), 1, {});
  expect_one_line(run({"rewrite", "/nowhere", "x"}), 1, {"/nowhere"});
  expect_one_line(run({"rewrite", table_model(), "x"}), 1, {"table network", "rewrite network", "simplify"});
}

TEST(Predict, SaysTheClassAndItsProbabilities) {
  const TempFolder folder;
  write(folder / "new.csv", "colour,size\nred,1.3\nblue,9.2\n");  // columns in another order
  const Ended e = run({"predict", table_model(), folder / "new.csv"});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_EQ(e.out, "kind\na\nb\n");
  const Ended p = run({"predict", table_model(), folder / "new.csv", "--probabilities", "-o", folder / "out.csv"});
  EXPECT_EQ(p.exit_code, 0) << p.err;
  EXPECT_EQ(text_of(folder / "out.csv").rfind("kind,p(a),p(b)\na,", 0), 0u) << text_of(folder / "out.csv");
}

TEST(Predict, NumbersHaveNoProbabilities) {
  const TempFolder folder;
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 7) + "," + std::to_string(3 * (i % 7) + 1) + "\n";
  write(folder / "rows.csv", rows);
  ASSERT_EQ(run({"train", "table", "--csv", folder / "rows.csv", "--target", "y", "--train-steps", "5", "--quiet",
                 "--out", folder / "run"})
                .exit_code,
            0);
  expect_one_line(run({"predict", folder / "run", folder / "rows.csv", "--probabilities"}), 2, {"--probabilities"});
}

TEST(Table, TextThatIsNotUtf8IsRefusedBeforeThereIsAFolder) {
  const TempFolder folder;
  for (const char* text : {"a,kind\n1,\xff\n2,b\n", "a,k\xe9nd\n1,x\n2,y\n", "a,kind\n1,\xed\xa0\x80\n"}) {
    std::ofstream(folder / "latin.csv") << text;
    expect_one_line(
        run({"train", "table", "--csv", folder / "latin.csv", "--target", "a", "--json", "--out", folder / "run"}), 1,
        {"latin.csv", "UTF-8", "line "});
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

TEST(Predict, RowsCanBeNamedAndComeFromStandardInput) {
  const TempFolder folder;
  write(folder / "new.csv", "name,colour,size\n\"x, y\",red,1.3\nz,blue,9.2\n");
  EXPECT_EQ(run({"predict", table_model(), folder / "new.csv", "--id", "name"}).out, "name,kind\n\"x, y\",a\nz,b\n");
  EXPECT_EQ(run({"predict", table_model(), folder / "new.csv", "--id", "row"}).out, "row,kind\n1,a\n2,b\n");
  expect_one_line(run({"predict", table_model(), folder / "new.csv", "--id", "nmae"}), 1, {"nmae"});
  const std::string piped =
      test::program_path() + " predict " + table_model() + " - < " + folder / "new.csv" + " > " + folder / "out";
  ASSERT_EQ(std::system(piped.c_str()), 0);
  EXPECT_EQ(text_of(folder / "out"), "kind\na\nb\n");
}

TEST(Eval, OfATableModelNeedsRowsAndSaysHowManyAreRight) {
  const TempFolder folder;
  write(folder / "test.csv", "colour,size,kind\nred,1.3,a\nblue,9.2,b\nred,9,a\nred,1,a\n");
  const Ended e = run({"eval", table_model(), folder / "test.csv"});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "3 of 4 rows right (75.00 %)")) << e.out;
  const auto j = run({"eval", table_model(), folder / "test.csv", "--json"}).json();
  EXPECT_EQ(j.at("accuracy"), 0.75);
  EXPECT_EQ(run({"eval", table_model(), folder / "test.csv", "--require-solved"}).exit_code, 3);
  expect_one_line(run({"eval", table_model()}), 2, {"CSV"});
  write(folder / "none.csv", "colour,size,kind\n");
  expect_one_line(run({"eval", table_model(), folder / "none.csv"}), 1, {"none.csv"});
}

TEST(Train, ARegressionEndsWithItsRSquared) {
  const TempFolder folder;
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 7) + "," + std::to_string(i % 7 + i % 3) + "\n";
  write(folder / "rows.csv", rows);
  const Ended e = run({"train", "table", "--csv", folder / "rows.csv", "--target", "y", "--train-steps", "20",
                       "--quiet", "--out", folder / "run"});
  EXPECT_TRUE(has(e.out, "R² 0.")) << e.out;
  EXPECT_FALSE(has(e.out, "score")) << e.out;
  expect_one_line(run({"eval", folder / "run", folder / "none.csv"}), 1, {"none.csv"});
  EXPECT_TRUE(has(run({"eval", folder / "run", folder / "rows.csv"}).out, "R² 0.")) << e.out;
}

TEST(Predict, AnUnseenWordIsRefusedOrAllowedAndTold) {
  const TempFolder folder;
  const std::string csv = folder / "unseen.csv";
  write(csv, "size,colour,kind\n1.3,green,a\n1.2,red,a\n9.2,green,b\n9.1,RED,b\n");
  for (const char* command : {"predict", "eval"}) {
    expect_one_line(run({command, table_model(), csv}), 1,
                    {"\"RED\"", "column \"colour\"", "line 5", "1 row; 2 such words", "did you mean \"red\"?"});
    const Ended allowed = run({command, table_model(), csv, "--allow-unknown"});
    EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
    EXPECT_TRUE(has(allowed.err, "\"green\" was not in the training rows; 2 rows, the first in line 2")) << allowed.err;
    EXPECT_TRUE(
        has(allowed.err, "\"RED\" was not in the training rows; 1 row, the first in line 5; did you mean \"red\"?"))
        << allowed.err;
    if (command == std::string("predict")) {
      EXPECT_EQ(allowed.out, "kind,unknown\na,colour\na,\nb,colour\nb,colour\n");
    }
  }
  write(csv, "size;colour\n1.3;blue\n");
  const Ended known = run({"predict", table_model(), csv, "--allow-unknown"});
  EXPECT_EQ(known.out + known.err, "kind\na\n");
}

TEST(Predict, AMissingColumnIsAnError) {
  const TempFolder folder;
  write(folder / "missing.csv", "colour\nred\n");
  expect_one_line(run({"predict", table_model(), folder / "missing.csv"}), 1,
                  {"no column \"size\"", "of that name", "the table has colour"});
  write(folder / "gap.csv", "colour,size\nred,\n");
  expect_one_line(run({"predict", table_model(), folder / "gap.csv"}), 1,
                  {"a missing value in column \"size\", line 2", "fill it in, or train"});
  write(folder / "text.csv", "size,colour\nbig,red\n");
  expect_one_line(run({"predict", table_model(), folder / "text.csv"}), 1, {"big", "line 2"});
  write(folder / "ragged.csv", "size,colour\n1,red\n2\n");
  expect_one_line(run({"predict", table_model(), folder / "ragged.csv"}), 1, {"line 3"});
  write(folder / "empty.csv", "");
  expect_one_line(run({"predict", table_model(), folder / "empty.csv"}), 1, {"empty.csv"});
  expect_one_line(run({"predict", simplify_model(), folder / "missing.csv"}), 1, {"rewrite network", "table"});
}

struct GraphFiles {
  TempFolder folder;
  std::string a = folder / "a.json", b = folder / "b.gxl";
  GraphFiles() {
    write(a, R"({"directed": false, "nodes": ["C", "C", "O"], "edges": [[0, 1, "s"], [1, 2, "d"]]})");
    // The same graph without its last node.
    write(b,
          "<?xml version=\"1.0\"?><gxl><graph id=\"g\" edgeids=\"false\" edgemode=\"undirected\">"
          "<node id=\"n1\"><attr name=\"l\"><string>C</string></attr></node>"
          "<node id=\"n2\"><attr name=\"l\"><string>C</string></attr></node>"
          "<edge from=\"n1\" to=\"n2\"><attr name=\"l\"><string>s</string></attr></edge></graph></gxl>");
  }
};

TEST(Ged, DistanceOfJsonAndGxlWithEditsAndCosts) {
  const GraphFiles f;
  const TempFolder folder;
  write(folder / "c.json", R"({"directed": false, "nodes": ["C", "C"], "edges": [[0, 1, "s"]]})");
  const Ended e = run({"ged", f.a, folder / "c.json", "--edits"});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_TRUE(has(e.out, "distance 2 (exact)")) << e.out;  // the node O and its edge
  EXPECT_EQ(std::count(e.out.begin(), e.out.end(), '\n'), 4) << e.out;
  const auto j = run({"ged", f.a, folder / "c.json", "--json", "--costs", "node-delete=0.5,edge-delete=3"}).json();
  EXPECT_DOUBLE_EQ(j.at("distance"), 3.5);
  EXPECT_EQ(j.at("exact"), true);
  EXPECT_EQ(j.at("edits").size(), 2u);
  EXPECT_EQ(run({"ged", f.b, f.b, "--json"}).json().at("distance"), 0);
  const auto bounds = run({"ged", f.a, folder / "c.json", "--exact-budget", "0", "--json"}).json();
  EXPECT_LE(bounds.at("lower"), 2);
  EXPECT_GE(bounds.at("upper"), 2);
}

TEST(Ged, MeasuredNumbersAreNoLabelsUnlessTheyAreChosen) {
  const TempFolder folder;
  const auto letter = [](const char* symbol, const char* x) {
    return std::string("<gxl><graph edgemode=\"undirected\"><node id=\"a\"><attr name=\"symbol\"><string>") + symbol +
           "</string></attr><attr name=\"x\"><float>" + x + "</float></attr></node></graph></gxl>";
  };
  const std::string a = folder / "a.gxl", b = folder / "b.gxl", c = folder / "c.gxl";
  write(a, letter("A", "0.5"));
  write(b, letter("A", "0.51"));
  write(c, letter("B", "0.5"));
  const Ended e = run({"ged", a, b});
  EXPECT_TRUE(has(e.out, "distance 0 (exact)")) << e.out;
  EXPECT_TRUE(has(e.err, "labels are made of symbol; not used: x ")) << e.err;
  EXPECT_EQ(run({"ged", a, b, "--quiet"}).err, "");
  const Ended chosen = run({"ged", a, b, "--attributes", "symbol,x"});
  EXPECT_TRUE(has(chosen.out, "distance 1 (exact)")) << chosen.out;
  EXPECT_TRUE(has(chosen.err, "labels are made of symbol, x\n")) << chosen.err;
  const auto j = run({"ged", a, c, "--json", "--attributes", "x"}).json();
  EXPECT_EQ(j.at("distance"), 0);
  EXPECT_EQ(j.at("attributes").dump(), R"({"ignored":["symbol"],"used":["x"]})");
  expect_one_line(run({"ged", a, b, "--attributes", "symbol,z"}), 1, {"\"z\"", "no graph has", "x"});
  const auto many = run({"ged", folder.path(), "--json", "--quiet"}).json();
  EXPECT_EQ(many.at("attributes").at("ignored").dump(), R"(["x"])");
}

TEST(Ged, EditsOfDirectedGraphsHaveArrows) {
  const TempFolder folder;
  write(folder / "a.json", R"({"directed": true, "nodes": ["A", "B", "C"], "edges": [[1, 0, "x"], [1, 2, "y"]]})");
  write(folder / "b.json", R"({"directed": true, "nodes": ["A", "B", "C"], "edges": [[1, 2, "y"], [2, 0, "z"]]})");
  const Ended e = run({"ged", folder / "a.json", folder / "b.json", "--edits"});
  EXPECT_TRUE(has(e.out, "delete edge 1 -> 0 \"x\"")) << e.out;
  EXPECT_TRUE(has(e.out, "insert edge 2' -> 0' \"z\"")) << e.out;
}

TEST(Ged, FoldersAndListsOfPairsAsCsvAndJson) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "some");
  const auto path_of = [](int nodes) {
    nlohmann::json j{{"nodes", std::vector<std::string>(static_cast<std::size_t>(nodes), "C")},
                     {"links", nlohmann::json::array()}};
    for (int i = 1; i < nodes; ++i) j["links"].push_back({{"source", i - 1}, {"target", i}});
    return j.dump();
  };
  for (int i = 1; i <= 3; ++i) write(folder / ("some/" + std::to_string(i) + ".json"), path_of(i));
  write(folder / "some/readme.txt", "not a graph");
  const std::string one = folder / "some/1.json", two = folder / "some/2.json", three = folder / "some/3.json";
  const std::string header = "first,second,distance,lower,upper,exact,searched\n";
  const auto row = [](const std::string& a, const std::string& b, int d) {
    return a + "," + b + "," + std::to_string(d) + "," + std::to_string(d) + "," + std::to_string(d) + ",true,0\n";
  };
  const Ended all = run({"ged", folder / "some"});
  EXPECT_EQ(all.out, header + row(one, two, 2) + row(one, three, 4) + row(two, three, 2)) << all.err;
  EXPECT_TRUE(has(all.err, "3/3")) << all.err;  // progress
  EXPECT_EQ(run({"ged", folder / "some", "--threads", "1", "--quiet"}).out, all.out);
  const Ended against = run({"ged", folder / "some", three, "--quiet", "-o", folder / "out.csv"});
  EXPECT_EQ(against.out + against.err, "");
  EXPECT_EQ(text_of(folder / "out.csv"), header + row(one, three, 4) + row(two, three, 2) + row(three, three, 0));
  write(folder / "pairs.csv", "second,first\nsome/1.json,some/3.json\n" + two + "," + two + "\n");
  const auto j = run({"ged", "--pairs", folder / "pairs.csv", "--json", "--quiet"}).json();
  EXPECT_EQ(j.at("exact"), 2);
  EXPECT_EQ(j.at("pairs")[0].at("distance"), 4);
  EXPECT_EQ(j.at("pairs")[1].at("second"), two);
  expect_one_line(run({"ged", "--pairs", folder / "pairs.csv", one}), 2, {"--pairs"});
  expect_one_line(run({"ged"}), 2, {"no graph"});
  expect_one_line(run({"ged", one}), 2, {"second graph"});
  expect_one_line(run({"ged", folder / "some", "--edits"}), 2, {"--edits"});
  write(folder / "pairs.csv", "first,other\na,b\n");
  expect_one_line(
      run({"ged", "--pairs", folder / "pairs.csv"}), 1,
      {"no column \"second\" in", "pairs.csv", "the columns first and second", "the file has first, other"});
  std::filesystem::create_directory(folder / "empty");
  expect_one_line(run({"ged", folder / "empty"}), 1, {"empty", ".gxl"});
}

TEST(Ged, EmptyAndOneNodeGraphsWork) {
  const TempFolder folder;
  write(folder / "none.json", R"({"directed": false, "nodes": [], "edges": []})");
  write(folder / "one.json", R"({"directed": false, "nodes": ["A"], "edges": []})");
  EXPECT_EQ(run({"ged", folder / "none.json", folder / "none.json", "--json"}).json().at("distance"), 0);
  EXPECT_EQ(run({"ged", folder / "none.json", folder / "one.json", "--json"}).json().at("distance"), 1);
}

TEST(Ged, MistakesAreOneLineWithTheirPlace) {
  const GraphFiles f;
  const TempFolder folder;
  const auto json_error = [&](const std::string& text, const std::vector<std::string>& words) {
    write(folder / "bad.json", text);
    expect_one_line(run({"ged", folder / "bad.json", f.a}), 1, words);
  };
  json_error("{\"nodes\": [\"A\", }", {"bad.json", "byte 17"});
  json_error(R"({"nodes": ["A"], "edges": [[0, 7]]})", {"7"});
  json_error(R"({"nodes": 3, "edges": []})", {"nodes"});
  json_error("", {"bad.json"});
  json_error(R"({"nodes": ["A"], "vertices": []})", {"vertices", "bad.json"});
  json_error(R"({"nodes": [{"id": 1, "lable": "A"}]})", {"lable", "did you mean label"});
  json_error(R"({"nodes": ["A", "B"], "links": [{"source": 0, "target": 1, "weight": 2}]})", {"weight", "edge 0"});
  json_error(R"({"nodes": ["A", "B"], "links": [], "edges": []})", {"both"});
  json_error(R"({"multigraph": true, "nodes": []})", {"multigraph"});
  write(folder / "bad.gxl", "<gxl><graph edgemode=\"undirected\"><node id=\"a\"></graph></gxl>");
  expect_one_line(run({"ged", folder / "bad.gxl", f.b}), 1, {"bad.gxl", "byte 49"});
  write(folder / "edge.gxl",
        "<gxl><graph edgemode=\"undirected\"><node id=\"a\"/><edge from=\"a\" to=\"zz\"/></graph></gxl>");
  expect_one_line(run({"ged", folder / "edge.gxl", f.b}), 1, {"zz"});
  expect_one_line(run({"ged", f.a, f.a, "--costs", "node-eat=1"}), 1, {"node-eat"});
  expect_one_line(run({"ged", f.a, f.a, "--costs", "node-insert=-1"}), 1, {"-1"});
  expect_one_line(run({"ged", f.a, "/nowhere.json"}), 1, {"/nowhere.json"});
}

TEST(Data, LinesAreWrittenReadBackAndTrainedOn) {
  const TempFolder folder;
  const std::string file = folder / "lines.jsonl";
  const Ended made = run({"data", "simplify", "--count", "200", "--depth", "3", "--seed", "4", "-o", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::istringstream lines(text_of(file));
  std::string line;
  std::size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    const auto j = nlohmann::json::parse(line);
    for (const char* field : {"input", "output", "normal", "before", "after"}) EXPECT_TRUE(j.contains(field)) << field;
  }
  EXPECT_EQ(count, 200u);
  EXPECT_EQ(run({"data", "simplify", "--count", "200", "--depth", "3", "--seed", "4"}).out, text_of(file));

  const auto train = [&](const std::string& data, const std::string& out, Arguments more = {}) {
    Arguments all{"train",
                  "simplify",
                  "--data",
                  data,
                  "--depth",
                  "3",
                  "--train-steps",
                  "3",
                  "--validation-examples",
                  "20",
                  "--test-examples",
                  "20",
                  "--deep-examples",
                  "5",
                  "--quiet",
                  "--json",
                  "--out",
                  folder / out};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Ended trained = train(file, "run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.json().at("report").at("test").at("examples"), 20);

  write(folder / "bad.jsonl", text_of(file).substr(0, text_of(file).find('\n') + 1) + "{\"input\": \n");
  const Ended bad = train(folder / "bad.jsonl", "bad");
  expect_one_line(bad, 1, {"line 2"});
  EXPECT_FALSE(has(bad.err, "json.exception")) << bad.err;
  write(folder / "kind.jsonl", R"({"input": 3, "output": "x", "before": {"nodes": ["x"], "edges": []}})"
                               "\n");
  const Ended kind = train(folder / "kind.jsonl", "kind");
  expect_one_line(kind, 1, {"line 1", "of another kind"});
  EXPECT_FALSE(has(kind.err, "json.exception")) << kind.err;
  write(folder / "rules.jsonl", R"({"input": "x", "output": "y", "before": {"nodes": ["x"], "edges": []}})"
                                "\n");
  const Ended rules = train(folder / "rules.jsonl", "rules");
  expect_one_line(rules, 1, {"line 1", "rules of this task"});
  EXPECT_FALSE(has(rules.err, "vocabulary")) << rules.err;
  write(folder / "other.jsonl", R"({"input": "q", "output": "q", "before": {"nodes": ["q"], "edges": []}})"
                                "\n");
  expect_one_line(train(folder / "other.jsonl", "other"), 1, {"line 1", "\"q\""});
  write(folder / "few.jsonl", text_of(file).substr(0, text_of(file).find('\n') + 1));
  expect_one_line(train(folder / "few.jsonl", "few"), 1, {"1 different", "test"});
  expect_one_line(train("/nowhere.jsonl", "none"), 1, {"/nowhere.jsonl"});
}

TEST(Ged, NoGraphThatIsReadIsReplaced) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "graphs");
  const std::string graph = R"({"nodes":["C","N"],"edges":[[0,1]]})";
  for (const char* name : {"graphs/1.json", "graphs/2.json"}) write(folder / name, graph);
  write(folder / "pairs.csv", "first,second\ngraphs/1.json,graphs/2.json\n");
  for (const Arguments& inputs : {Arguments{folder / "graphs"}, Arguments{"--pairs", folder / "pairs.csv"}}) {
    Arguments all{"ged"};
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.insert(all.end(), {"--quiet", "-o", folder / "graphs/2.json"});
    expect_one_line(run(all), 1, {"file to read"});
  }
  EXPECT_EQ(text_of(folder / "graphs/2.json"), graph);
}

}  // namespace
}  // namespace espalier
