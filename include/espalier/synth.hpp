// Circuits made smaller, proved equal to what they were made from, read from files and written for other tools. Nothing
// unproved is exported: only ProvedCircuits are.
//
// Example:
//   const Netlist raw = import_circuit(".model m\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n", "and.blif");
//   const ProvedCircuit circuit = prove_and_simplify(raw);
//   for (const ExportedFile& file : export_circuit(circuit, {.format = CircuitFormat::kVerilog, .file = "and.v"}))
//     std::printf("%s: %zu bytes\n", file.path.c_str(), file.content.size());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/fields.hpp"
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"

namespace espalier {

// ---- Smaller

// Functional sweeping: gates that random simulation cannot tell apart are proved equal or complementary, and merged.
struct SweepOptions {
  std::uint64_t seed = 1;
  int random_words = 32;               // 64 patterns each
  int table_inputs = 12;               // proofs by exhaustive table up to this support, by SAT above
  int window_inputs = 14;              // also by table over a cut of so many nets, whatever lies below; 0: not
  int conflicts = 100;                 // SAT effort for one pair; undecided pairs are left alone
  std::uint64_t effort = 400'000'000;  // gate words of simulation and SAT propagations in total, about
  std::function<bool()> stop = {};     // asked now and then; once it says true, nothing more is compared
};
struct SweepReport {
  std::size_t candidates = 0, merged = 0, by_table = 0, by_sat = 0, refuted = 0, undecided = 0;
  // Input words that told nets apart; a report passed in again starts from them.
  std::vector<std::vector<std::uint64_t>> patterns = {};
};

// What a smaller circuit is. An XOR counts as one gate or three ANDs; kDepth is levels first and
// gates second, kLut6 look-up tables of six inputs.
enum class CircuitGoal : std::uint8_t { kGates, kAnds, kDepth, kLut6 };
inline constexpr std::array<std::string_view, 4> kCircuitGoalNames{"gates", "ands", "depth", "lut6"};

// Rewriting and resubstitution in turn. Rewriting replaces what a gate computes of up to four nets by the smallest
// circuit of that function; resubstitution rebuilds a gate from nets that exist anyway, wherever what it feeds cannot
// tell (observability don't-cares included). Each change frees at least as many gates as it adds. On complete truth
// tables: of the circuit when it has at most `table_inputs` live inputs, of windows of `leaves` nets otherwise.
struct ResubstituteOptions {
  CircuitGoal goal = CircuitGoal::kGates;
  std::uint64_t seed = 1;
  int table_inputs = 14;
  int leaves = 9;
  bool rewriting = true;                   // makes its library first, which takes an eighth of a second once
  int walks = 2000;                        // rounds over rewrites that cost nothing, now and then one gate
  std::uint64_t effort = 1'000'000'000;    // word operations in total, about; less when they are in vain
  std::uint64_t effort_per_gate = 30'000;  // and so many more for each gate
};
struct ResubstituteReport {
  std::size_t tried = 0, replaced = 0;  // gates looked at; rebuilt
  std::uint64_t spent = 0;              // of the effort; a report passed in again goes on counting
};

// Berkeley ABC as an optional helper: the netlist goes out as BLIF, comes back rewritten, is proved equal and
// simplified again, and is kept only when it is smaller.
struct AbcOptions {
  std::string program = {};  // empty: berkeley-abc or abc from $PATH
  double seconds = 60;       // for one run of the program
  int rounds = 3;            // each starts from the best so far
};
struct AbcReport {
  std::string program = {};
  std::size_t runs = 0, kept = 0, failed = 0, unproved = 0;
};
// The program's full path; empty when there is none.
std::string find_abc(const std::string& program = {});

struct SimplifyOptions {
  CircuitGoal goal = CircuitGoal::kGates;
  bool sweep = true;
  bool resubstitute = true;
  std::uint64_t search = 0;          // mutants of the result to try for fewer gates, thousands per second; 0: none
  const ThreadPool* pool = nullptr;  // of that search, whose result does not depend on it; null: the calling thread
  bool with_abc = false;             // an Error when it is not installed
  SweepOptions sweep_options = {};
  ResubstituteOptions resubstitute_options = {};
  AbcOptions abc_options = {};
  int max_rounds = 20;

  // Where a circuit is wanted small at once, not as small as can be: a twentieth of the effort.
  static SimplifyOptions brief() {
    SimplifyOptions options;
    options.resubstitute_options.effort /= 20;
    options.resubstitute_options.effort_per_gate /= 20;
    options.resubstitute_options.rewriting = false;
    return options;
  }
};
struct SimplifyStep {
  std::string pass;
  std::size_t gates = 0, active = 0, depth = 0;  // after the pass
};
struct SimplifyReport {
  std::vector<SimplifyStep> steps = {};  // the first is the netlist as given; passes that changed nothing are left out
  SweepReport sweep = {};
  ResubstituteReport resubstitute = {};
  AbcReport abc = {};
  std::vector<Netlist> stages = {};  // of large circuits: what came between, of the same function
};
Fields fields_of(SimplifyOptions& options);
// Always the same function, never larger than what it was given in what `goal` counts; the same result for the same
// options. With kAnds the gates are ANDs of nets and inverted nets.
Netlist simplify(const Netlist& netlist, const SimplifyOptions& options = {}, SimplifyReport* report = nullptr);

// ---- Equal

struct VerifyOptions {
  std::uint64_t seed = 1;
  int table_inputs = 20;  // complete tables up to this many inputs of an output, SAT above
  double seconds = 0;     // for SAT, all outputs together; 0: as long as it takes. Without an answer: undecided
};

struct CounterExample {
  std::vector<bool> inputs;  // in the order of the first circuit
  std::string output;        // name in the first circuit
  bool first = false, second = false;
};

struct VerifyReport {
  enum class Verdict { kEqual, kDifferent, kUndecided };
  Verdict verdict = Verdict::kUndecided;
  bool inputs_by_name = false, outputs_by_name = false;  // or by position, when the names are not the same
  std::size_t outputs = 0;
  std::size_t by_structure = 0, by_table = 0, by_sat = 0;  // outputs proved equal, and how
  std::size_t stages = 0;                                  // circuits between the two that it was proved by way of
  std::vector<std::string> undecided = {};                 // outputs
  std::optional<CounterExample> counter_example = {};
};

// Do two circuits compute the same function? Every "equal" is a proof: identical structure, a complete truth table, or
// an unsatisfiable formula. A difference comes with an input that shows it. An Error when the numbers of inputs or
// outputs differ.
VerifyReport verify(const Netlist& first, const Netlist& second, const VerifyOptions& options = {});
// The same for what simplify() made: where that has no answer soon, from each of its stages to the next, which are
// closer to each other than the ends.
VerifyReport verify_simplified(const Netlist& netlist, const Netlist& simplified, const SimplifyReport& report,
                               const VerifyOptions& options = {});

// What to say of a verdict when inputs or outputs were matched by position: it holds for that order. Empty: by name.
std::string order_warning(const VerifyReport& report);

// "equal: 3 outputs proved, 1 by structure, 2 by complete table" and the like, in one line.
std::string describe(const VerifyReport& report, const Netlist& first);

// ---- Cells of automata

// Which channels of a cell count, across steps.
struct ChannelOptions {
  int visible = 1;  // the first channels
  bool periodic = false;
  // Also what holds on every board that can be reached: from this start, of all channels, or, with `from_any`, after
  // the first step from any.
  std::optional<Board> start = {};
  bool from_any = false;
  std::uint64_t steps = 100;  // simulated to find what may hold, before it is proved
};
struct ChannelReport {
  Netlist cell;                                // what is left
  std::vector<int> kept;                       // its channels, by their old numbers
  std::vector<int> unneeded;                   // no visible channel ever depends on them
  std::vector<int> constant, equal, opposite;  // proved by induction, and replaced by what they are
  std::string proof;                           // in words
};
// Shows the same for ever: from every start, or with `start` and `from_any` from what these say. Asynchronous updates
// included, as a cell takes all its new channels at once. The cell should be simplified.
ChannelReport reduce_channels(const Netlist& cell, const ChannelOptions& options);

// What is said of whole boards: proved, refuted by a board that breaks it (checked by simulation), undecided; or
// proved only in part, which is another answer. prove() in lattice_model.hpp puts such claims.
struct BoardCounterExample {
  Board start, end, target;
  std::vector<Board> fires = {};  // asynchronous: who updates at each moment, one channel
  int wrong = 0;                  // visible bits of `end` that are not the target's
  std::uint64_t steps = 0;        // between start and end; of an asynchronous one, moments
};

struct BoardProof {
  // kWeaker: the claim itself is refuted, where there is a counter-example, or undecided; `weaker` is proved.
  enum class Verdict { kProved, kRefuted, kUndecided, kWeaker };
  Verdict verdict = Verdict::kUndecided;
  std::string claim = {}, how = {};  // what was to be proved, always in full
  std::string weaker = {};           // kWeaker: what is proved instead of it
  int needed_channels = 0;           // those that the visible ones ever depend on
  std::size_t unknown_bits = 0;      // of the start, all channels: the claim is about 2 to this many boards
  std::size_t gates = 0;             // of the unrolled board, after folding
  // Asynchronous and proved by search: what is proved is about rounds of at most this many moments, and is weaker than
  // the claim. 0: about rounds of any length.
  int moments = 0;
  std::optional<BoardCounterExample> counter_example = {};
};

struct BoardProofOptions {
  double seconds = 0;      // 0: as long as it takes
  std::uint64_t seed = 1;  // of the boards that are simulated before anything is searched for
  // Where to write a proof in DRAT, and FILE.cnf that it refutes. The board is then unrolled gate by gate, so that a
  // checker takes nothing on trust but the unrolling.
  std::string proof_file = {};
  std::function<void(std::uint64_t done, std::uint64_t total, const std::string& doing)> progress = {};
  std::function<bool()> stop = {};
  const ThreadPool* pool = nullptr;  // of the simulations; null: the calling thread
};

// ---- From files, and into files

// Espalier's own JSON, BLIF, or AIGER (ascii and binary): told apart by the content, not by the name. Combinational
// circuits only. Everything wrong in a file is one Error that names the file and the place; nothing is allocated on a
// file's word alone.
Netlist import_circuit(std::string_view bytes, const std::string& file);

// A circuit that may be exported: one that was given, and says so; one that is proved to compute the same as one that
// was given; or what such a one needs to show the same for ever.
class ProvedCircuit {
 public:
  // Every gate as it stands. That nothing is proved about it is what proof() says.
  static ProvedCircuit unproved(const Netlist& netlist);

  const Netlist& netlist() const { return netlist_; }
  const NetlistCounts& counts() const { return counts_; }
  const std::string& proof() const { return proof_; }  // in words
  const SimplifyReport& report() const { return report_; }
  // The channels of a cell across steps, by their numbers in the cell it was made of; none: all of them.
  const std::vector<int>& kept_channels() const { return kept_; }

 private:
  friend ProvedCircuit prove_and_simplify(const Netlist&, const SimplifyOptions&, const VerifyOptions&);
  friend ProvedCircuit prove_across_steps(const ProvedCircuit&, const ChannelOptions&);
  ProvedCircuit(Netlist netlist, std::string proof)
      : netlist_(std::move(netlist)), counts_(count_netlist(netlist_)), proof_(std::move(proof)) {}
  Netlist netlist_;
  NetlistCounts counts_;
  std::string proof_;
  SimplifyReport report_;
  std::vector<int> kept_;
};
// An Error when there is no proof, or none in the time that `proof` allows.
ProvedCircuit prove_and_simplify(const Netlist& raw, const SimplifyOptions& options = {},
                                 const VerifyOptions& proof = {});
// reduce_channels() of a cell, what was proved before included.
ProvedCircuit prove_across_steps(const ProvedCircuit& cell, const ChannelOptions& options);

enum class CircuitFormat : std::uint8_t {
  kC,        // C99 without dependencies: NAME_cell() on 64 patterns at once; for a cell NAME_step() on a board
  kVerilog,  // Verilog-2001: module NAME; for a cell NAME_array, a clocked board; and a testbench of both
  kBlif,
  kAiger,  // ascii
  kAigerBinary,
  kDot,         // for graphviz: inputs that nothing reads are left out
  kSvg,         // drawn by graphviz; an Error when that is not installed
  kJson,        // espalier's own, which import_circuit reads
  kJavaScript,  // one ES module: cell(input, output) on 32 patterns at once; for a cell step(...) on a board
};
inline constexpr std::array<std::string_view, 9> kCircuitFormatNames{"c",   "verilog", "blif", "aiger", "aiger-binary",
                                                                     "dot", "svg",     "json", "js"};
CircuitFormat circuit_format(std::string_view name);  // an Error when there is none of that name

struct ExportOptions {
  CircuitFormat format = CircuitFormat::kVerilog;
  std::string file = "circuit";  // what the main file will be called; its folder and name are those of the others
  std::string name = {};         // of modules and functions; empty: the netlist's own
  std::string header_name = {};  // C: what the source includes; empty: the header beside it
  // C, Verilog, JavaScript: the model's own board, which is what a board is unless the user of the export says
  // otherwise.
  int height = 16, width = 16;
  bool periodic = true;
  std::optional<Board> start = {};  // of that size and the cell's channels; empty: all 0
  int steps = 6;                    // Verilog: how far the testbench runs it
  // Verilog: how the testbench checks: random patterns, and a random board with both boundaries.
  std::uint64_t test_seed = 1;
  int test_vectors = 64, test_height = 8, test_width = 11, test_steps = 6;
};
struct ExportedFile {
  std::string path, content;
};
// Nothing is written to disk here. The main file first: DIR/FILE; C gives DIR/STEM.h beside it, Verilog DIR/STEM_tb.v.
// Names are kept where the format allows them and made into plain identifiers where it does not.
std::vector<ExportedFile> export_circuit(const ProvedCircuit& circuit, const ExportOptions& options);

}  // namespace espalier
