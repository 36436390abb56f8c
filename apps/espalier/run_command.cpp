// espalier run MODEL: lets a trained automaton grow: in the terminal, as GIF and PNG, or as text.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "arguments.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/gif.hpp"
#include "base/hash.hpp"
#include "base/life_rule.hpp"
#include "base/pattern.hpp"
#include "base/rle.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "interrupt.hpp"
#include "models/lattice/lattice_view.hpp"
#include "output.hpp"
#include "program_ranks.hpp"
#include "progress.hpp"
#include "replay.hpp"

namespace espalier::app {
namespace {

struct RunFlags {
  std::string model, size, damage, gif, png, start;
  std::optional<std::uint64_t> steps = {};  // nothing: as the model is best looked at
  std::uint64_t seed = 1;
  std::size_t reset = 0;
  double fire_rate = 0;
  int threads = 0, fps = 12, scale = 0;
  bool soft = false, channels = false, json = false, quiet = false;
  double rank_timeout = kRankTimeout;

  // Nobody looks at cells: a board may be larger than anything that can be shown.
  bool unseen() const { return json && !soft && gif.empty() && png.empty(); }
};

constexpr std::uint64_t kMaxFrames = 400;
constexpr std::int64_t kMaxTold = 1 << 20;  // bits of a board, all channels, that --json writes
constexpr double kPatience = 2;             // seconds without progress

std::optional<RuleTable> life_rule(const std::string& text) {
  try {
    return parse_life_rule(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// A pattern of another rule is no mistake, but does not do what it is known for. Models that learned no rule with a
// name have nothing to compare with.
void note_other_rule(const std::string& path, const std::string& rule, const LatticeModel& model) {
  const auto learned = life_rule(model.learned());
  if (!learned || rule.empty()) return;
  const std::string plain = rule.substr(0, rule.find(':'));  // without the size of its world: B3/S23:T100,200
  if (life_rule(plain) != learned && (!program_ranks() || program_ranks()->first()))
    note("espalier: {} is a pattern of the rule {}; the model is one of {}\n", path, one_line(rule), model.learned());
}

// A board to begin with.
struct Start {
  Pattern pattern;
  std::optional<Replay> replay = {};  // a board that breaks a claim: of all channels, to be run as it was found
};

// From a file: an ASCII pattern or a PNG (into the first channels), an RLE pattern (channel 0), or an answer of prove.
Start read_start(const std::string& path, const LatticeModel& model) {
  const std::vector<std::byte> bytes = read_bytes(path, kMaxPatternBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string what = fmt::format("\"{}\"", path);
  if (is_replay(text)) {
    Replay replay = parse_replay(text, what, model);
    const Board& board = replay.start;
    Pattern pattern{static_cast<int>(board.height()), static_cast<int>(board.width()), board.channels(), {}};
    for (int c = 0; c < pattern.channels; ++c)
      for (std::size_t y = 0; y < board.height(); ++y)
        for (std::size_t x = 0; x < board.width(); ++x) pattern.bits.push_back(board.get(y, x, c));
    return {std::move(pattern), std::move(replay)};
  }
  if (!is_rle(text) && !path.ends_with(".rle"))
    return {parse_pattern_file(
        bytes, what, "a PNG (.png), an ASCII pattern (.txt), an RLE pattern (.rle) or what prove --json wrote")};
  RlePattern rle = parse_rle(text, what);
  note_other_rule(path, rle.rule, model);
  return {{rle.height, rle.width, 1, std::move(rle.cells)}};
}

// What a replay says of the run; options that would make another run of it are refused.
void follow_replay(const RunFlags& f, const Replay& replay, BoardSize& size, std::uint64_t& steps) {
  const BoardSize own{static_cast<int>(replay.start.height()), static_cast<int>(replay.start.width())};
  if (!f.size.empty() && (size.height != own.height || size.width != own.width))
    throw UsageError("--size", fmt::format("got {}, expected {} x {}, the board of --start, or nothing", f.size,
                                           own.height, own.width));
  size = own;
  if (!f.steps) steps = replay.steps;
  if (replay.fires.empty()) return;
  const auto only = [&](const char* option, bool given) {
    if (given) throw UsageError(option, "got a --start with updates of its own, expected none of these");
  };
  only("--async", f.fire_rate > 0);
  only("--soft", f.soft);
  only("--damage", !f.damage.empty());
  only("--reset", f.reset > 0);
  if (steps > replay.fires.size())
    throw UsageError("--steps", fmt::format("got {}, expected at most the {} whose updates --start has", steps,
                                            replay.fires.size()));
  if (program_ranks()) throw UsageError("--start", "got updates of cells under mpirun, expected a single process");
}

// In the middle of a board of zeros; some of its rows.
BoardState place(const Pattern& pattern, int channels, int height, int width, RowRange rows) {
  if (pattern.height > height || pattern.width > width)
    throw UsageError("--start", fmt::format("got a board of {} x {}, expected one that fits in {} x {}", pattern.height,
                                            pattern.width, height, width));
  if (pattern.channels > channels)
    throw UsageError("--start",
                     fmt::format("got {}, expected at most {}, those of the model",
                                 counted(static_cast<std::uint64_t>(pattern.channels), "channel"), channels));
  BoardState state(channels, rows.count, width);
  const int top = (height - pattern.height) / 2 - rows.first, left = (width - pattern.width) / 2;
  for (int c = 0; c < pattern.channels; ++c)
    for (int y = std::max(0, -top); y < std::min(pattern.height, rows.count - top); ++y)
      for (int x = 0; x < pattern.width; ++x) state.at(c, top + y, left + x) = pattern.at(c, y, x);
  return state;
}

SimulatorOptions simulator_options(const RunFlags& f, const LatticeModel& model, int height, int width,
                                   std::uint64_t steps) {
  SimulatorOptions o = run_options(model);
  if (f.fire_rate > 0) o.fire_rate = f.fire_rate;
  o.seed = f.seed;
  o.random_reset = f.reset;
  if (!f.damage.empty()) {
    const auto d = numbers("--damage", f.damage, ',');
    if ((d.size() != 4 && d.size() != 6) || *std::ranges::min_element(d) < 0)
      throw UsageError("--damage", fmt::format("got \"{}\", expected TOP,LEFT,HEIGHT,WIDTH[,FROM,TO]", f.damage));
    const auto n = [&](std::size_t i) { return static_cast<std::size_t>(d[i]); };
    if (d[0] >= height || d[1] >= width || d[2] == 0 || d[3] == 0)
      throw UsageError("--damage",
                       fmt::format("got \"{}\", expected cells of the {} x {} board", f.damage, height, width));
    if (d.size() == 6 && d[4] >= d[5])
      throw UsageError("--damage", fmt::format("got \"{}\", expected FROM before TO", f.damage));
    o.dead.push_back({n(0), n(1), n(2), n(3), d.size() == 6 ? n(4) : 0, d.size() == 6 ? n(5) : steps});
  }
  return o;
}

// Shows frames at a steady pace where a person watches, collects them where a GIF is wanted.
class Stage {
 public:
  Stage(const RunFlags& f, const LatticeModel& model)
      : f_(f),
        model_(model),
        piped_(f.gif == "-" || f.png == "-"),
        live_(!f.quiet && !f.json && !piped_ && isatty(STDOUT_FILENO)) {}

  void show(const BoardState& state, bool last) {
    if (state.values.empty()) return;  // another rank shows it
    const Image image = f_.channels ? view_channels(state) : view_board(model_, state);
    if (!f_.gif.empty()) frames_.push_back(enlarge(image, scale(image)));
    if (live_) {
      const Image board = view_board(model_, state);
      if (drawn_) fmt::print("{}", rewind_terminal(board));
      fmt::print("{}", draw_in_terminal(board, {model_.loss_channels() >= 3}));
      std::fflush(stdout);
      drawn_ = true;
      if (!last) std::this_thread::sleep_for(std::chrono::milliseconds(1000 / f_.fps));
    } else if (last && !f_.json && !f_.quiet && !piped_) {
      fmt::print("{}", draw_in_terminal(view_board(model_, state)));
    }
    if (last && !f_.png.empty()) write_picture(f_.png, encode_png(enlarge(image, scale(image))));
    if (last && !f_.gif.empty()) write_picture(f_.gif, encode_gif(frames_, {1000 / f_.fps, 1500, 0}));
  }
  // Every step is shown when someone looks; otherwise only what is written.
  bool every_step() const { return live_ || !f_.gif.empty(); }
  bool live() const { return live_; }
  bool has_pictures() const { return !f_.gif.empty() || !f_.png.empty(); }

 private:
  static void write_picture(const std::string& path, const std::vector<std::byte>& bytes) {
    write_output(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  int scale(const Image& image) const {
    return f_.scale > 0 ? f_.scale : std::max(1, 384 / std::max(image.width, image.height));
  }
  const RunFlags& f_;
  const LatticeModel& model_;
  bool piped_, live_, drawn_ = false;  // piped: a picture is what goes to standard output
  std::vector<Image> frames_;
};

// As many steps at a time as take a tenth of a second, so that progress shows and Ctrl-C is heard.
class Portion {
 public:
  std::uint64_t next(std::uint64_t left) {
    const double now = seconds_now();
    if (now - last_ < 0.05 && size_ < left) size_ *= 2;
    if (now - last_ > 0.2) size_ = std::max<std::uint64_t>(1, size_ / 2);
    last_ = now;
    return std::min(size_, left);
  }

 private:
  std::uint64_t size_ = 1;
  double last_ = seconds_now();
};

void check_pictures(const RunFlags& f) {
  check_output("--gif", f.gif, {f.model, f.start});
  check_output("--png", f.png, {f.model, f.start});
  if (f.gif.ends_with(".png") || f.png.ends_with(".gif"))
    throw UsageError(f.gif.ends_with(".png") ? "--gif" : "--png",
                     "got a file whose name says another kind of picture, "
                     "expected .gif of a whole run, .png of its last board");
  if (!f.gif.empty() && f.gif == f.png) throw UsageError("--png", fmt::format("got {}, where the GIF goes", f.png));
  if (f.json && (f.gif == "-" || f.png == "-"))
    throw UsageError("--json", "got a picture on standard output, too, expected one of them");
  if (f.channels && f.gif.empty() && f.png.empty())
    throw UsageError("--channels", "got no picture to show them in, expected --gif or --png");
}

int run(const RunFlags& f) {
  if (!program_ranks() || program_ranks()->first()) check_pictures(f);
  const auto loaded = load_lattice_model(f.model);
  const LatticeModel& model = *loaded;
  BoardSize size = board_size("--size", f.size, model, f.unseen() ? kMaxUnseen : kMaxSide);
  std::uint64_t steps = f.steps.value_or(model.view().steps);
  const std::optional<Start> given = f.start.empty() ? std::nullopt : std::optional(read_start(f.start, model));
  const Replay* const replay = given && given->replay ? &*given->replay : nullptr;
  if (replay) follow_replay(f, *replay, size, steps);
  const int height = size.height, width = size.width;  // what lambdas can take
  ThreadPool pool(f.threads);
  Ranks* const ranks = f.soft ? nullptr : program_ranks();
  if (f.soft && model.is_refined())
    throw UsageError("--soft", fmt::format("got {}, a circuit that no weights made, expected a model with soft gates; "
                                           "hint: train --from turns it into soft gates",
                                           f.model));
  if (program_ranks()) program_ranks()->set_patience(f.rank_timeout);
  if (f.soft && program_ranks() && !program_ranks()->first()) return kDone;
  if (ranks) check_same_model(*ranks, model);
  SimulatorOptions options = simulator_options(f, model, height, width, steps);
  options.ranks = ranks;
  if (replay && f.fire_rate == 0) options.fire_rate = 1;  // as it was found: all cells in every step
  if (ranks && given)
    ranks->check_same("start", Hasher().add(given->pattern.bits.data(), given->pattern.bits.size()).hex());
  const auto begin = [&](RowRange rows) {
    return given ? place(given->pattern, model.channels(), height, width, rows)
                 : model.start(height, width, f.seed, rows);
  };
  const auto stepper = replay && !replay->fires.empty() ? make_replay_stepper(model, *replay)
                                                        : make_stepper(model, height, width, begin, options, f.soft);
  // Boards of bits are told as they are where they are not too large to be read.
  const bool told = f.json && !f.soft && static_cast<std::int64_t>(height) * width * model.channels() <= kMaxTold;
  const auto tell = [&] {
    const BoardState state = told ? stepper->state() : BoardState{};
    return state.values.empty() ? Json() : rows_of(board_of(state));
  };
  const Json first = tell();
  const StopFlag& stop = interrupt_flag();  // until here a signal ends the program at once: nothing has begun
  // A soft step of a large board takes seconds, and one that is left off leaves the board as it was.
  if (f.soft) pool.watch(&stop);
  Stage stage(f, model);
  const auto on_any = [&](bool here) { return ranks ? ranks->any(here) : here; };
  const bool every_step = on_any(stage.every_step()), to_the_last = on_any(stage.live() || stage.has_pictures());
  const double began = seconds_now();
  // Long runs are shown in at most kMaxFrames frames.
  const std::uint64_t stride = every_step ? (steps + kMaxFrames - 1) / kMaxFrames : steps;
  if (steps == 0 ? !f.unseen() : every_step) stage.show(stepper->state(), steps == 0);
  Progress progress(f.quiet || f.json || stage.live(), steps);
  Portion portion;
  std::uint64_t done = 0;
  bool ended = false;
  while (done < steps && !ended) {
    const std::uint64_t shown = std::min(done + stride, steps);
    while (done < shown && !ended) {
      const std::uint64_t mine = portion.next(shown - done), now = ranks ? ranks->all_gather(mine).front() : mine;
      try {
        stepper->advance(now, pool);
        done += now;
      } catch (const Cancelled&) {
      }
      ended = on_any(stop.raised());
      if (done < steps && seconds_now() - began > kPatience) progress.update(done, "steps");
    }
    progress.clear();
    if (!f.unseen() && (!ended || to_the_last)) stage.show(stepper->state(), done == steps || ended);
  }
  if (f.json) {
    // Rank 0 takes the rows of one rank after the other: those may wait as long as that takes.
    if (ranks) program_ranks()->set_patience(f.rank_timeout + 1e-8 * height * width * model.channels());
    const Stepper::Figures figures = stepper->figures();
    const Json last = tell();
    print_json({{"goal", model.learned()},
                {"height", height},
                {"width", width},
                {"steps", done},
                {"soft", f.soft},
                {"alive", figures.alive},
                {"board_hash", figures.hash},
                {"start", first},
                {"end", last},
                {"seconds", seconds_now() - began}});
  }
  return ended ? kInterrupted : kDone;
}

}  // namespace

Command run_command() {
  const auto f = std::make_shared<RunFlags>();
  Command c{"run", "let a trained automaton grow, in the terminal or as a GIF or PNG"};
  c.arguments = {{"model", &f->model, "a trained automaton: its run's folder or model.safetensors"}};
  Fields& o = c.options;
  o.add("start", f->start,
        "the board to begin with: a PNG, an ASCII pattern, an RLE file, or what prove --json wrote (default: as "
        "trained)")
      .metavar("FILE");
  o.add("size", f->size, "board size, N or HxW (default: as trained; a rule 64)").metavar("N|HxW");
  const auto set_steps = [f = f.get()](const std::string& text) {
    std::uint64_t steps = 0;
    Fields fields;
    fields.add("steps", steps, "", 0, 1e9).set_text(text);
    f->steps = steps;
  };
  o.add("steps", {[f = f.get()] { return f->steps ? std::to_string(*f->steps) : ""; }, set_steps},
        "steps to run; 0 = show the start (default: as trained; checkerboards twice that, a rule 100)")
      .metavar("N");
  o.add("seed", f->seed, "seed of the start, of updates and of resets", 0, 1.8446744073709552e19);
  o.add("async", f->fire_rate, "probability that a cell updates in a step (default: as trained)", 1e-6, 1)
      .metavar("RATE");
  o.add("damage", f->damage, "hold a rectangle at 0: TOP,LEFT,HEIGHT,WIDTH[,FROM,TO]");
  o.add("reset", f->reset, "clear a random square of this side after every step", 0, kMaxSide);
  o.add("soft", f->soft, "soft gates as trained instead of the hard circuit");
  o.add("gif", f->gif, "write the run as an animated GIF; - is standard output").metavar("FILE");
  o.add("png", f->png, "write the last board as a PNG; - is standard output").metavar("FILE");
  o.add("scale", f->scale, "pixels per cell in pictures; 0 = enough to make the picture about 384 wide", 0, 64);
  o.add("channels", f->channels, "show all channels in pictures, as one sheet");
  o.add("fps", f->fps, "steps per second in terminal and GIF", 1, 100);
  add_threads(o, f->threads);
  o.add("quiet", f->quiet, "draw nothing");
  o.add("json", f->json,
        "print one JSON object instead of the board; with the first and the last one, every channel, if they have at "
        "most 2^20 bits");
  add_rank_timeout(o, f->rank_timeout);
  c.over_ranks = true;
  return std::move(c).with(f, run);
}

}  // namespace espalier::app
