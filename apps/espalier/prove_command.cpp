// espalier prove MODEL PROPERTY: theorems about whole boards, or a board that breaks them.
#include <fmt/format.h>

#include "base/clock.hpp"
#include "board_argument.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "model_argument.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "synth/board_proof.hpp"

namespace espalier::app {
namespace {

using Verdict = BoardProof::Verdict;

constexpr double kPatience = 2;  // seconds without progress

struct Options {
  std::string model, property, size, png, proof;
  int steps = 0, round = 2;
  double seconds = 0;
  std::uint64_t seed = 1;
  bool json = false, quiet = false;
};

const char* word(Verdict verdict) {
  return verdict == Verdict::kProved ? "proved" : verdict == Verdict::kRefuted ? "refuted" : "undecided";
}

BoardState state_of(const Board& board) {
  BoardState state(board.channels(), static_cast<int>(board.height()), static_cast<int>(board.width()));
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) state.at(c, y, x) = board.get(y, x, c);
  return state;
}

// The start (every channel, where they are few), what becomes of it, and what should: wrong cells are red.
Image picture(const LatticeModel& model, const BoardCounterExample& example, const Board& target) {
  constexpr int kFewChannels = 16;
  const auto scaled = [](const Image& image) {
    return enlarge(image, std::max(1, 384 / std::max(image.width, image.height)));
  };
  const BoardState start = state_of(example.start);
  Image end = view_board(model, state_of(example.end));
  for (std::size_t y = 0; y < target.height(); ++y)
    for (std::size_t x = 0; x < target.width(); ++x)
      for (int c = 0; c < target.channels(); ++c)
        if (example.end.get(y, x, c) != target.get(y, x, c))
          end.set(static_cast<int>(y), static_cast<int>(x),
                  target.get(y, x, c) ? Rgb{200, 30, 30} : Rgb{255, 140, 140});
  const std::vector<Image> panels{
      scaled(model.channels() > 1 && model.channels() <= kFewChannels ? view_channels(start)
                                                                      : view_board(model, start)),
      scaled(end), scaled(view_board(model, state_of(target)))};
  constexpr int kGap = 12;
  int width = kGap, height = 0;
  for (const Image& panel : panels) width += panel.width + kGap, height = std::max(height, panel.height);
  Image sheet(width, height + 2 * kGap, {60, 60, 90});
  int left = kGap;
  for (const Image& panel : panels) {
    for (int y = 0; y < panel.height; ++y)
      for (int x = 0; x < panel.width; ++x) sheet.set(kGap + y, left + x, panel.at(y, x));
    left += panel.width + kGap;
  }
  return sheet;
}

void print_text(const LatticeModel& model, const BoardProof& proof, double seconds) {
  fmt::print("{}: {}\n{}\n", word(proof.verdict), proof.claim, proof.how);
  if (proof.unknown_bits)
    fmt::print("about 2^{} starts: {} of {} channels matter\n", proof.unknown_bits, proof.needed_channels,
               model.channels());
  if (proof.counter_example) {
    const BoardCounterExample& e = *proof.counter_example;
    fmt::print("a start, its visible channels:\n{}", draw_in_terminal(view_board(model, state_of(e.start))));
    fmt::print("what becomes of it, {} wrong, checked by simulation:\n{}", e.wrong,
               draw_in_terminal(view_board(model, state_of(e.end))));
  }
  fmt::print("{:.2f} s\n", seconds);
}

Json rows_of(const Board& board) {
  Json channels = Json::array();
  for (int c = 0; c < board.channels(); ++c) {
    Json rows = Json::array();
    for (std::size_t y = 0; y < board.height(); ++y) {
      std::string row;
      for (std::size_t x = 0; x < board.width(); ++x) row += board.get(y, x, c) ? '#' : '.';
      rows.push_back(row);
    }
    channels.push_back(rows);
  }
  return channels;
}

Json to_json(const LatticeModel& model, const BoardProof& proof, double seconds) {
  Json j = {{"verdict", word(proof.verdict)},
            {"claim", proof.claim},
            {"how", proof.how},
            {"channels", model.channels()},
            {"needed_channels", proof.needed_channels},
            {"unknown_bits", proof.unknown_bits},
            {"gates", proof.gates},
            {"seconds", seconds}};
  if (proof.counter_example) {
    const BoardCounterExample& e = *proof.counter_example;
    Json fires = Json::array();
    for (const Board& fire : e.fires) fires.push_back(rows_of(fire)[0]);
    j["counter_example"] = {
        {"start", rows_of(e.start)}, {"end", rows_of(e.end)}, {"wrong", e.wrong}, {"updates", fires}};
  }
  return j;
}

int run(const Options& o) {
  check_output("--png", o.png, {o.model});
  check_output("--proof", o.proof, {o.model});
  const auto model = load_lattice_model(o.model);
  const auto [height, width] = board_size("--size", o.size, *model);
  const int steps = o.steps ? o.steps : model->rollout().steps;
  const Board target = model->goal().target(model->rollout(), height, width);
  BoardProofOptions options;
  options.seconds = o.seconds;
  options.seed = o.seed;
  options.proof_file = o.proof;
  options.stop = [] { return interrupt_flag().raised(); };
  const double began = seconds_now();
  std::unique_ptr<Progress> progress;
  std::string last;
  options.progress = [&](std::uint64_t done, std::uint64_t total, const std::string& doing) {
    if (seconds_now() - began < kPatience) return;
    if (doing != last) progress = std::make_unique<Progress>(o.quiet || o.json, std::max<std::uint64_t>(total, 1));
    last = doing;
    progress->update(done, doing);
  };
  const bool asynchronous = model->rollout().fire_rate < 1;
  BoardProver prover({model->raw_cell(), model->periodic(), model->goal().loss_channels(), asynchronous ? o.round : 0},
                     target, options);
  const BoardProof proof = prover.converges(steps);
  const double seconds = seconds_now() - began;
  progress.reset();
  if (o.json)
    print_json(to_json(*model, proof, seconds));
  else
    print_text(*model, proof, seconds);
  if (!o.png.empty() && proof.counter_example) write_png(o.png, picture(*model, *proof.counter_example, target));
  if (interrupt_flag().raised()) return kInterrupted;
  return proof.verdict == Verdict::kProved ? kDone : proof.verdict == Verdict::kRefuted ? kRefuted : kUnsolved;
}

}  // namespace

Command prove_command() {
  const auto f = std::make_shared<Options>();
  Command command{"prove", "prove what becomes of every start, or find a board that breaks it"};
  command.arguments = {{"model", &f->model, "a trained automaton: its run's folder or model.safetensors"},
                       {"property", &f->property, "converges"}};
  Fields& o = command.options;
  o.add("size", f->size, "board size, N or HxW (default: as trained)").metavar("N|HxW");
  o.add("steps", f->steps, "after how many steps (default: as trained)", 0, 1e6);
  o.add("round", f->round, "asynchronous: moments of a round, in which each cell updates at least once", 1, 1000);
  o.add("seconds", f->seconds, "give up after so long (0: never)", 0, 1e9);
  o.add("proof", f->proof, "write the proof as DRAT, and FILE.cnf, which it refutes").metavar("FILE");
  o.add("png", f->png, "write a board that breaks the claim as a picture").metavar("FILE");
  o.add("seed", f->seed, "seed of the boards that are simulated first", 0, 1.8446744073709552e19);
  o.add("quiet", f->quiet, "no progress");
  add_json(o, f->json);
  command.footer =
      "Exit code 0: proved, 4: refuted by a board that is shown, 3: undecided, 1: an error.\n"
      "Example: espalier prove runs/board converges --size 16 --steps 20";
  command.keeps = f;
  command.run = [f] { return run(*f); };
  return command;
}

}  // namespace espalier::app
