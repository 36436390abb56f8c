#include "synth/board_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/synth.hpp"
#include "netlist/cell.hpp"
#include "synth/channels.hpp"
#include "synth/cnf.hpp"
#include "synth/ternary_simulator.hpp"

namespace espalier {

using Verdict = BoardProof::Verdict;

namespace {

constexpr std::size_t kMaxNets = 20'000'000;  // of an unrolled board
constexpr std::size_t kSampled = 256;         // starts that are simulated first, of large boards fewer
constexpr int kPortion = 8;                   // steps simulated between looks at the clock
constexpr std::size_t kSampledBits = std::size_t{1} << 30;

class Stopper : public CaDiCaL::Terminator {
 public:
  explicit Stopper(std::function<bool()> stop) : stop_(std::move(stop)) {}
  bool terminate() override { return stop_(); }

 private:
  std::function<bool()> stop_;
};

}  // namespace

std::size_t count_wrong(const Board& board, const Board& target) {
  std::size_t wrong = 0;
  for (int c = 0; c < target.channels(); ++c)
    for (std::size_t y = 0; y < target.height(); ++y)
      for (std::size_t x = 0; x < target.width(); ++x) wrong += board.get(y, x, c) != target.get(y, x, c);
  return wrong;
}

BoardProver::BoardProver(BoardSystem system, BoardProofOptions options)
    : system_(std::move(system)), options_(std::move(options)) {
  end_ = options_.seconds > 0 ? seconds_now() + options_.seconds : 0;
  if (system_.round < 0) fail("prove", fmt::format("rounds of {} moments", system_.round), "1 or more");
  const Netlist small = simplify(system_.cell, SimplifyOptions::brief());
  channels_ = needed_channels(small, system_.visible);
  cell_ = keep_channels(small, channels_);
}

bool BoardProver::out_of_time() const {
  return (options_.stop && options_.stop()) || (end_ > 0 && seconds_now() > end_);
}

void BoardProver::check_time() const {
  if (out_of_time()) throw Cancelled();
}

void BoardProver::report(std::uint64_t done, std::uint64_t total, const std::string& doing) const {
  if (options_.progress) options_.progress(done, total, doing);
}

BoardProof BoardProver::answer(const Query& query) {
  if (system_.visible != query.target.channels())
    fail("prove", fmt::format("a target of {} channels", query.target.channels()), fmt::format("{}", system_.visible));
  BoardProof proof;
  proof.needed_channels = static_cast<int>(channels_.size());
  proof.unknown_bits = query.bits;
  try {
    if (options_.proof_file.empty() && by_settling(query, proof)) return proof;
    if (!query.assumed && by_simulation(query, proof)) return proof;
    by_search(query, proof);
  } catch (const Cancelled&) {
    proof.how = "no answer in time";
  }
  return proof;
}

// Proved when every visible bit is known in the end, and right.
bool BoardProver::by_settling(const Query& query, BoardProof& proof) {
  const int H = static_cast<int>(query.target.height()), W = static_cast<int>(query.target.width());
  Unroller unroller(cell_, system_.periodic, query.bits);
  TernarySimulator simulator(cell_, system_.periodic, H, W, [this] { check_time(); });
  TernarySimulator::State state = TernarySimulator::of(query.start(unroller));
  if (system_.round) state = simulator.closure(state);
  std::string wanted;
  for (int c = 0; c < query.target.channels(); ++c)
    for (int y = 0; y < H; ++y)
      for (int x = 0; x < W; ++x) wanted += query.target.get(y, x, c) ? '1' : '0';
  for (int step = 1; step <= query.steps && !out_of_time(); ++step) {
    TernarySimulator::State after = simulator.step(state);
    report(step, query.steps, "steps settled");
    const bool right = after.starts_with(wanted);
    if (right && (query.any_step || step == query.steps)) {
      proof.verdict = Verdict::kProved;
      proof.how =
          fmt::format("by settling: after {} {}{} every visible cell is decided by cells that are decided already",
                      step, system_.round ? "round" : "step", step == 1 ? "" : "s");
      return true;
    }
    if (after == state && !right) return false;  // nothing more will be known
    if (step < query.assumed) after.replace(0, wanted.size(), wanted);
    state = std::move(after);
  }
  return false;
}

// Random starts and schedules first: a rule that fails often is caught at once.
bool BoardProver::by_simulation(const Query& query, BoardProof& proof) {
  const int H = static_cast<int>(query.target.height()), W = static_cast<int>(query.target.width());
  const int moments = system_.round ? query.steps * system_.round : query.steps;
  const std::size_t bits =
      static_cast<std::size_t>(H) * W * (cell_channels(system_.cell) + (system_.round ? moments : 0));
  const std::size_t sampled = std::min(kSampled, kSampledBits / bits / 64 * 64);
  if (sampled == 0) return false;
  Unroller unroller(cell_, system_.periodic, query.bits);
  const LiteralBoard start = query.start(unroller);
  BoardBatch boards(sampled, H, W, cell_channels(system_.cell));
  const Random random(options_.seed, Purpose::kTrial);
  for (std::size_t w = 0; w < boards.words(); ++w) {
    std::vector<std::uint64_t> inputs(query.bits);
    for (std::size_t i = 0; i < query.bits; ++i) {
      inputs[i] = random.bits64(w * query.bits + i);
      if (w == 0) inputs[i] = (inputs[i] & ~std::uint64_t{3}) | 2;  // all 0 and all 1 among them
    }
    check_time();
    const std::vector<std::uint64_t> nets = evaluate_words(unroller.netlist(), inputs);
    for (int c = 0; c < start.channels; ++c)
      for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
          const Literal& l = start.at(c, y, x);
          boards.set_word(w, y, x, channels_[c],
                          (l.constant() ? 0 : nets[l.net]) ^ (l.inverted ? ~std::uint64_t{0} : 0));
        }
  }
  const BoardBatch starts = boards;
  std::optional<BoardBatch> fire;
  if (system_.round) {
    fire = draw_fire(boards, moments, 0.5, options_.seed, 0);
    for (std::size_t w = 0; w < boards.words(); ++w)
      for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
          for (int r = 0; r < query.steps; ++r) {  // who has not fired in a round does at its end
            std::uint64_t fired = 0;
            for (int m = 0; m < system_.round; ++m) fired |= fire->word(w, y, x, r * system_.round + m);
            const int last = (r + 1) * system_.round - 1;
            fire->set_word(w, y, x, last, fire->word(w, y, x, last) | ~fired);
          }
  }
  BatchOptions how;
  how.periodic = system_.periodic;
  how.fire = fire ? &*fire : nullptr;
  BatchSimulator simulator(system_.cell, how);
  const int portion = fire ? moments : kPortion;  // who fires is counted from the beginning
  for (int m = 0; m < moments; m += portion) {
    check_time();
    simulator.run(boards, static_cast<std::uint64_t>(std::min(portion, moments - m)), pool());
  }
  for (std::size_t n = 0; n < sampled; ++n) {
    check_time();
    if (!count_wrong(boards.board(n), query.target)) continue;
    std::vector<Board> fires;
    if (fire)
      for (int m = 0; m < moments; ++m) {
        Board& mask = fires.emplace_back(H, W, 1);
        for (int y = 0; y < H; ++y)
          for (int x = 0; x < W; ++x) mask.set(y, x, 0, fire->get(n, y, x, m));
      }
    refute(query, starts.board(n), std::move(fires), proof);
    proof.how = fmt::format("found among {} boards that were simulated", sampled);
    return true;
  }
  return false;
}

// The board unrolled, and a SAT solver asked for a start that ends wrong.
void BoardProver::by_search(const Query& query, BoardProof& proof) {
  const int H = static_cast<int>(query.target.height()), W = static_cast<int>(query.target.width());
  const std::size_t cells = static_cast<std::size_t>(H) * W;
  const int moments = system_.round ? query.steps * system_.round : query.steps;
  const bool plain = !options_.proof_file.empty();
  Unroller unroller(cell_, system_.periodic, query.bits + (system_.round ? cells * moments : 0), plain);
  LiteralBoard state = query.start(unroller);
  const LiteralBoard start = state, shown = constant_board(query.target);
  const auto fires_at = [&](int moment, std::size_t cell) {
    return unroller.input(query.bits + cells * moment + cell);
  };
  for (int moment = 0; moment < moments; ++moment) {
    std::vector<Literal> fire;
    for (std::size_t i = 0; system_.round && i < cells; ++i) fire.push_back(fires_at(moment, i));
    state = unroller.step(state, fire, [this] { check_time(); });
    if (moment + 1 < query.assumed)
      for (std::size_t i = 0; i < shown.literals.size(); ++i) state.literals[i] = shown.literals[i];
    report(moment + 1, moments, "steps unrolled");
    proof.gates = unroller.netlist().gates.size();
    if (out_of_time() || unroller.netlist().nets() > kMaxNets) {
      proof.how = out_of_time() ? fmt::format("no answer in time; {} of {} steps unrolled", moment + 1, moments)
                                : fmt::format("{} steps unrolled make more than {} gates", moment + 1, kMaxNets);
      return;
    }
  }
  std::vector<Literal> bad;
  bool always = false;
  for (int c = 0; c < query.target.channels(); ++c)
    for (int y = 0; y < H; ++y)
      for (int x = 0; x < W; ++x) {
        const Literal wrong = state.at(c, y, x) ^ query.target.get(y, x, c);
        if (!wrong.constant()) bad.push_back(wrong);
        always |= wrong == kOne;
      }
  if (bad.empty() && !always && !plain) {
    proof.verdict = Verdict::kProved;
    proof.moments = system_.round;
    proof.how = fmt::format("by unrolling: {} gates, after which every visible cell is constant", proof.gates);
    return;
  }
  CnfCone solver(unroller.netlist(), false);
  std::optional<GrowingFile> trace;
  if (plain) solver.record(trace.emplace(options_.proof_file).stream());
  Stopper stopper([this] { return out_of_time(); });
  solver.connect(&stopper);
  for (int round = 0; system_.round && round < query.steps; ++round)
    for (std::size_t i = 0; i < cells; ++i) {
      std::vector<Literal> once;
      for (int m = 0; m < system_.round; ++m) once.push_back(fires_at(round * system_.round + m, i));
      solver.require(once);
    }
  if (!always) solver.require(bad);
  report(0, 0, fmt::format("searching through {} gates", proof.gates));
  const CnfCone::Answer found = solver.solve();
  if (plain) solver.close_record();
  if (found == CnfCone::Answer::kUnsatisfiable) {
    proof.verdict = Verdict::kProved;
    proof.moments = system_.round;
    proof.how = fmt::format("by SAT: {} gates, no start that ends wrong", proof.gates);
    if (plain) {
      // Only beside a whole proof, without which place() fails.
      if (std::fflush(trace->stream()) == 0 && !std::ferror(trace->stream()))
        write_atomically(options_.proof_file + ".cnf", std::string_view(solver.cnf()));
      trace->place();
    }
    return;
  }
  if (found == CnfCone::Answer::kUnknown) {
    proof.how = fmt::format("no answer in time; {} gates searched", proof.gates);
    return;
  }
  if (query.assumed) {
    proof.how = "it does not follow from what was assumed";
    return;
  }
  std::vector<std::uint64_t> inputs(unroller.netlist().inputs.size());
  for (Net net = 0; net < inputs.size(); ++net) inputs[net] = solver.knows(net) && solver.input_value(net);
  const std::vector<std::uint64_t> nets = evaluate_words(unroller.netlist(), inputs);
  Board board(H, W, cell_channels(system_.cell));
  for (int c = 0; c < start.channels; ++c)
    for (int y = 0; y < H; ++y)
      for (int x = 0; x < W; ++x) {
        const Literal& l = start.at(c, y, x);
        board.set(y, x, channels_[c], ((l.constant() ? 0 : nets[l.net] & 1) != 0) != l.inverted);
      }
  std::vector<Board> fires;
  for (int m = 0; system_.round && m < moments; ++m) {
    Board& mask = fires.emplace_back(H, W, 1);
    for (std::size_t i = 0; i < cells; ++i) mask.set(i / W, i % W, 0, inputs[fires_at(m, i).net] & 1);
  }
  refute(query, std::move(board), std::move(fires), proof);
  proof.how = fmt::format("found by SAT in {} gates", proof.gates);
}

// The board is run on the circuit as trained; only what is wrong there is a counter-example.
void BoardProver::refute(const Query& query, Board start, std::vector<Board> fires, BoardProof& proof) const {
  const auto moments = system_.round ? fires.size() : static_cast<std::size_t>(query.steps);
  BoardBatch boards(1, start.height(), start.width(), start.channels());
  boards.set_board(0, start);
  std::optional<BoardBatch> fire;
  if (system_.round) {
    fire.emplace(1, start.height(), start.width(), static_cast<int>(moments));
    for (std::size_t m = 0; m < moments; ++m)
      for (std::size_t y = 0; y < start.height(); ++y)
        for (std::size_t x = 0; x < start.width(); ++x) fire->set(0, y, x, static_cast<int>(m), fires[m].get(y, x, 0));
  }
  BatchOptions how;
  how.periodic = system_.periodic;
  how.fire = fire ? &*fire : nullptr;
  BatchSimulator(system_.cell, how).run(boards, moments, pool());
  const std::size_t wrong = count_wrong(boards.board(0), query.target);
  if (!wrong) fail("prove", "a counter-example that simulation does not confirm", "one that it does", "report this");
  proof.verdict = Verdict::kRefuted;
  proof.counter_example = BoardCounterExample{std::move(start), boards.board(0),         query.target,
                                              std::move(fires), static_cast<int>(wrong), moments};
}

}  // namespace espalier
