// espalier prove MODEL PROPERTY: theorems about whole boards, or a board that breaks them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "models/lattice/lattice_view.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "replay.hpp"
#include "runs/outputs.hpp"

namespace espalier::app {
namespace {

using Verdict = BoardProof::Verdict;

constexpr double kPatience = 2;  // seconds without progress

struct Options {
  std::string model, property, period, size, png, proof, rule, damage = "4x4";
  int steps = 0, round = 2, threads = 0;
  double seconds = 0;
  std::uint64_t seed = 1;
  bool asynchronous = false, json = false, quiet = false;
};

struct Answer {
  const char* word;
  ExitCode exit_code;
};
Answer answer_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved: return {"proved", kDone};
    case Verdict::kRefuted: return {"refuted", kRefuted};
    case Verdict::kWeaker: return {"weaker", kWeaker};
    case Verdict::kUndecided: break;
  }
  return {"undecided", kUnsolved};
}

// The start (every channel, where they are few), what becomes of it, and what should: wrong cells are crossed out, in
// a colour that no board has.
constexpr Rgb kWrong{240, 140, 0}, kCross{0, 0, 0};

Image picture(const LatticeModel& model, const BoardCounterExample& example) {
  const Board& target = example.target;
  constexpr int kFewChannels = 16;
  const auto scale_of = [](const Image& image) { return std::max(1, 384 / std::max(image.width, image.height)); };
  const auto scaled = [&](const Image& image) { return enlarge(image, scale_of(image)); };
  const BoardState start = state_of(example.start);
  Image end = view_board(model, state_of(example.end));
  const int cell = scale_of(end);
  end = enlarge(end, cell);
  for (int y = 0; y < static_cast<int>(target.height()); ++y)
    for (int x = 0; x < static_cast<int>(target.width()); ++x) {
      bool wrong = false;
      for (int c = 0; c < target.channels(); ++c) wrong |= example.end.get(y, x, c) != target.get(y, x, c);
      constexpr int kRoom = 6;  // for a cross
      for (int v = 0; wrong && v < cell; ++v)
        for (int u = 0; u < cell; ++u)
          end.set(y * cell + v, x * cell + u, cell >= kRoom && (u == v || u == cell - 1 - v) ? kCross : kWrong);
    }
  const std::vector<Image> panels{
      scaled(model.channels() > 1 && model.channels() <= kFewChannels ? view_channels(start)
                                                                      : view_board(model, start)),
      end, scaled(view_board(model, state_of(target)))};
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
  if (proof.verdict == Verdict::kWeaker)
    print("{}: {}\nonly a weaker claim is proved: {}\n{}\n", proof.counter_example ? "refuted" : "undecided",
          proof.claim, proof.weaker, proof.how);
  else
    print("{}: {}\n{}\n", answer_of(proof.verdict).word, proof.claim, proof.how);
  if (proof.unknown_bits)
    print("2^{} boards; {} of {} channels matter\n", proof.unknown_bits, proof.needed_channels, model.channels());
  if (proof.counter_example) {
    const BoardCounterExample& e = *proof.counter_example;
    constexpr std::size_t kMaxDrawn = 128;
    const auto draw = [&](const Board& board) {
      return std::max(board.height(), board.width()) <= kMaxDrawn
                 ? draw_in_terminal(view_board(model, state_of(board)))
                 : fmt::format("  {} x {} cells, too many to draw here: --png FILE\n", board.height(), board.width());
    };
    fmt::print("a board, its visible channels:\n{}", draw(e.start));
    fmt::print("the same after {}, {} wrong, checked by simulation:\n{}",
               counted(e.steps, e.fires.empty() ? "step" : "moment"), e.wrong, draw(e.end));
  }
  print("{:.2f} s\n", seconds);
}

Json to_json(const LatticeModel& model, const BoardProof& proof, double seconds) {
  Json j = {{"verdict", answer_of(proof.verdict).word},
            {"claim", proof.claim},
            {"how", proof.how},
            {"channels", model.channels()},
            {"needed_channels", proof.needed_channels},
            {"unknown_bits", proof.unknown_bits},
            {"seconds", seconds}};
  if (!proof.weaker.empty()) j["weaker_claim"] = proof.weaker;
  if (proof.gates) j["gates"] = proof.gates;  // of the unrolled board, where the proof needed one
  if (proof.moments) j["moments"] = proof.moments;
  if (proof.counter_example) {
    const BoardCounterExample& e = *proof.counter_example;
    Json fires = Json::array();
    for (const Board& fire : e.fires) fires.push_back(rows_of(fire)[0]);
    j["counter_example"] = {{"start", rows_of(e.start)}, {"end", rows_of(e.end)}, {"target", rows_of(e.target)},
                            {"wrong", e.wrong},          {"steps", e.steps},      {"updates", fires}};
  }
  return j;
}

constexpr std::array<const char*, 5> kProperties{"converges", "fixed", "period", "equals", "heals"};

ModelClaim claim_of(const Options& o) {
  ModelClaim claim;
  const auto at = std::ranges::find(kProperties, o.property);
  if (at == kProperties.end())
    throw UsageError("property",
                     fmt::format("got \"{}\", expected one of {}", o.property, fmt::join(kProperties, ", ")));
  claim.kind = static_cast<ModelClaim::Kind>(at - kProperties.begin());
  if (o.period.empty() == (claim.kind == ModelClaim::Kind::kPeriod))
    throw UsageError("period", o.period.empty()
                                   ? "got none, expected a number of steps after \"period\""
                                   : fmt::format("got \"{}\" after {}, expected nothing", o.period, o.property));
  if (!o.period.empty()) {
    const std::vector<long> list = numbers("period", o.period, ',');
    if (list.size() != 1 || list[0] < 1 || list[0] > 1000)
      throw UsageError("period", fmt::format("got \"{}\", expected 1 to 1000 steps", o.period));
    claim.period = static_cast<int>(list[0]);
  }
  if (!o.size.empty()) {
    const BoardSize size = parse_board_size("--size", o.size);
    claim.height = size.height, claim.width = size.width;
  }
  const BoardSize damage = parse_board_size("--damage", o.damage);
  claim.damage_height = damage.height, claim.damage_width = damage.width;
  claim.steps = o.steps;
  claim.rule = o.rule;
  claim.round = o.round;
  claim.asynchronous = o.asynchronous;
  return claim;
}

// Options that belong to other claims, before anything is loaded ...
void refuse_of_others(const Options& o, const ModelClaim& claim, const std::set<std::string>& given) {
  using Kind = ModelClaim::Kind;
  const auto only = [&](const char* which) {
    return fmt::format("got the claim {}, expected {}, the only one that has this option", o.property, which);
  };
  if (claim.kind != Kind::kEquals) refuse_given(given, {"rule"}, only("equals"));
  if (claim.kind != Kind::kHeals) refuse_given(given, {"damage"}, only("heals"));
  if (claim.kind != Kind::kEquals) return;
  refuse_given(given, {"size", "steps", "async", "round", "seconds", "seed", "proof"},
               "got the claim equals, which is about a single cell, expected one about boards");
}
// ... and those that the model makes nothing of.
void refuse_of_other_models(const Options& o, const ModelClaim& claim, const BoardProofOptions& options,
                            const LatticeModel& model, const std::set<std::string>& given) {
  if (claim.kind == ModelClaim::Kind::kEquals) return;
  if (!o.asynchronous && model.rollout().fire_rate == 1)
    refuse_given(given, {"round"}, "got a model whose cells update together, expected --async as well");
  if (!counts_steps(model, claim, options))
    refuse_given(given, {"steps"},
                 fmt::format("got the claim {}, expected converges or heals, which count steps", o.property));
}

int run(const Options& o, const std::set<std::string>& given) {
  check_output("--png", o.png, {o.model});
  check_output("--proof", o.proof, {o.model});
  if (o.proof == "-" || is_stream(o.proof))
    throw UsageError("--proof", fmt::format("got {}, expected a file: FILE.cnf is written beside it", o.proof));
  if (!o.proof.empty()) {
    check_output("--proof", o.proof + ".cnf", {o.model});
    check_unnamed_output("--proof", o.proof + ".cnf");
  }
  const ModelClaim claim = claim_of(o);
  refuse_of_others(o, claim, given);
  const auto model = load_lattice_model(o.model);
  BoardProofOptions options;
  options.seconds = o.seconds;
  options.seed = o.seed;
  options.proof_file = o.proof;
  refuse_of_other_models(o, claim, options, *model, given);
  options.stop = [] { return interrupt_flag().raised(); };
  const ThreadPool pool(o.threads);
  options.pool = &pool;
  const double began = seconds_now();
  std::unique_ptr<Progress> progress;
  std::string last;
  options.progress = [&](std::uint64_t done, std::uint64_t total, const std::string& doing) {
    // Made when its work begins, so that the rate is that of all of it, and shown when it takes long.
    if (doing != last) progress = std::make_unique<Progress>(o.quiet || o.json, std::max<std::uint64_t>(total, 1));
    last = doing;
    if (seconds_now() - began > kPatience) progress->update(done, doing);
  };
  const BoardProof proof = prove(*model, claim, options);
  const double seconds = seconds_now() - began;
  progress.reset();
  if (o.json)
    print_json(to_json(*model, proof, seconds));
  else
    print_text(*model, proof, seconds);
  if (!o.png.empty() && proof.counter_example) write_png(o.png, picture(*model, *proof.counter_example));
  if (interrupt_flag().raised()) return kInterrupted;
  return answer_of(proof.verdict).exit_code;
}

}  // namespace

Command prove_command() {
  const auto f = std::make_shared<Options>();
  Command command{"prove", "prove a claim about every start, or find a board that breaks it"};
  command.arguments = {{"model", &f->model, "a trained automaton: its run's folder or model.safetensors"},
                       {"property", &f->property, "converges, fixed, period P, equals or heals"},
                       {"P", &f->period, "the period", false}};
  Fields& o = command.options;
  o.add("size", f->size, "board size, N or HxW (default: as trained; fixed and period: every size where possible)")
      .metavar("N|HxW");
  o.add("steps", f->steps, "after how many steps (default: as trained)", 1, 1e6);
  o.add("rule", f->rule, "equals: which rule, such as B3/S23 (default: the one that the model was made for)");
  o.add("damage", f->damage, "heals: size of the damage, N or HxW").metavar("N|HxW");
  o.add("async", f->asynchronous, "under every schedule, however the model was trained");
  o.add("round", f->round,
        "asynchronous: a search looks only at rounds of at most this many moments, and proves no more", 1, 1000);
  o.add("seconds", f->seconds, "give up after this many seconds; 0 = never", 0, 1e9);
  o.add("proof", f->proof, "write the proof as DRAT, and FILE.cnf, which it refutes").metavar("FILE");
  o.add("png", f->png, "write a picture of a board that breaks the claim").metavar("FILE");
  o.add("seed", f->seed, "seed of the boards that are simulated first", 0, 1.8446744073709552e19);
  o.add("quiet", f->quiet, "no progress");
  add_threads(o, f->threads);
  add_json(o, f->json);
  command.footer =
      "converges  from every start the board shows its target after --steps, and ever after\n"
      "fixed      a board that shows its target shows it ever after, whatever its other channels hold; without --size\n"
      "           on every size (where opposite edges touch, every multiple of the pattern's period).\n"
      "           Pictures: from their start, after --steps and ever after\n"
      "period P   the same every P steps\n"
      "equals     the cell is the rule of --rule, whatever its other channels hold\n"
      "heals      however --damage cells of one board, that of --seed long after its start, are changed, at any place\n"
      "           within its edges, it shows its target --steps later\n"
      "Asynchronous: a step is a round of any length in which every cell updates at least once.\n\n"
      "Exit code 0: proved, exactly as it stands here; 4: refuted by a board that is shown; 5: not proved, but a\n"
      "weaker claim is, which is told (of boards that have shown the target several times in a row, of fewer sizes, "
      "of\n"
      "short rounds, or while other channels are 0); 3: undecided, 1: an error, 2: wrong usage. The board of --json "
      "is\n"
      "run again by: espalier run MODEL --start FILE --json\n"
      "Example: espalier prove runs/board converges --size 16 --steps 20";
  return std::move(command).with(f, [given = command.given](const Options& o) { return run(o, *given); });
}

}  // namespace espalier::app
