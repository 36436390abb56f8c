#include "runs/seed_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

enum class Ask : std::uint8_t {
  kBegun,
  kOpen,
  kRead,
  kHas,
  kDrop,
  kTrim,
  kMetrics,
  kWrite,
  kCheckpoint,
  kHasFile,
  kReadMetrics,
  kEvent,
  kEnd,
  kIdle
};

constexpr double kEndSeconds = 60;          // in which a job that was given up is ended
constexpr double kAwaySeconds = 0.5;        // between two looks of the server, which are mostly 0.2 ms apart
constexpr int kAskTag = 2, kAnswerTag = 3;  // answers: one tag for each seed, and one for idle ranks before them

// --- What is told, as bytes: the members of each structure are named once, for both ways.

template <class T>
auto members(T& x) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Evaluation>) {
    return std::tie(x.score, x.passed, x.loss, x.extra);
  } else if constexpr (std::is_same_v<Plain, Verdict>) {
    return std::tie(x.score, x.loss, x.solved, x.explained, x.data, x.text, x.hint, x.not_asked);
  } else if constexpr (std::is_same_v<Plain, TrainState>) {  // all but the weights
    return std::tie(x.step, x.loss, x.best_step, x.evaluated, x.seconds, x.last, x.best);
  } else {
    static_assert(std::is_same_v<Plain, SeedReport>);  // all but the error
    return std::tie(x.seed, x.steps, x.best_step, x.loss, x.validation_score, x.validation_loss, x.passed, x.verdict,
                    x.solved, x.started, x.outcome, x.provenance, x.seconds, x.phases, x.phase_steps, x.num_parameters,
                    x.model_hash, x.weights_hash, x.other_bits, x.facts);
  }
}

template <class T>
void pack(Packer& p, const T& x) {
  if constexpr (std::is_trivially_copyable_v<T> || std::is_same_v<T, std::string>) {
    p.put(x);
  } else if constexpr (std::is_same_v<T, Provenance>) {
    p.put(format_provenance(x));
  } else if constexpr (std::is_same_v<T, FieldValue>) {
    p.put(static_cast<std::uint8_t>(x.index()));
    std::visit([&](const auto& value) { pack(p, value); }, x);
  } else if constexpr (requires { x.begin(); }) {
    p.put(static_cast<std::uint64_t>(x.size()));
    for (const auto& [name, value] : x) pack(p, name), pack(p, value);
  } else {
    std::apply([&](const auto&... member) { (pack(p, member), ...); }, members(x));
  }
}

template <class T>
T unpack(Unpacker& u) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return u.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return u.text();
  } else if constexpr (std::is_same_v<T, Provenance>) {
    return parse_provenance(u.text());
  } else if constexpr (std::is_same_v<T, FieldValue>) {
    switch (u.get<std::uint8_t>()) {
      case 0: return u.get<bool>();
      case 1: return u.get<std::int64_t>();
      case 2: return u.get<std::uint64_t>();
      case 3: return u.get<double>();
      default: return u.text();
    }
  } else {
    T x;
    if constexpr (requires { x.begin(); }) {
      for (auto left = u.get<std::uint64_t>(); left > 0; --left) {
        auto& [name, value] = x.emplace_back();
        name = u.text();
        value = unpack<std::remove_reference_t<decltype(value)>>(u);
      }
    } else {
      std::apply([&](auto&... member) { ((member = unpack<std::remove_reference_t<decltype(member)>>(u)), ...); },
                 members(x));
    }
    return x;
  }
}

// --- Asking.

// One question and its answer; an Error of rank 0 is thrown here. Each seed has its own tag, because the threads of a
// rank ask at the same time.
Bytes ask(Ranks& ranks, Ask what, std::size_t index, Packer words) {
  Packer question;
  question.put(what).put(static_cast<std::uint64_t>(index)).put(words.take());
  ranks.send(0, kAskTag, question.take());
  Bytes answer = ranks.receive(0, kAnswerTag + static_cast<int>(what == Ask::kIdle ? 0 : index + 1));
  Unpacker unpack(answer);
  if (unpack.get<bool>()) throw Error(unpack.text());
  const auto rest = unpack.bytes();
  return {rest.begin(), rest.end()};
}

SeedStatus status_from(const Bytes& answer) { return Unpacker(answer).get<SeedStatus>(); }

// A run folder that lies with rank 0.
class RemoteFolder : public RunFolder {
 public:
  RemoteFolder(Ranks& ranks, std::size_t index, const std::string& path, const std::string& config)
      : RunFolder(path, config), ranks_(ranks), index_(index) {}

  SafetensorsFile read(const std::string& path) const override {
    const Bytes answer = ask(Ask::kRead, Packer().put(path));
    return SafetensorsFile::parse(Unpacker(answer).bytes(), path);
  }
  void write(const std::string& name, std::span<const std::byte> file) const override {
    ask(Ask::kWrite, Packer().put(name).put(file));
  }
  bool has(const std::string& name) const override {
    const Bytes answer = ask(Ask::kHasFile, Packer().put(name));
    return Unpacker(answer).get<bool>();
  }
  std::string metrics() const override {
    const Bytes answer = ask(Ask::kReadMetrics, {});
    return Unpacker(answer).text();
  }
  void append_metrics(const TrainState& state) const override {
    Packer p;
    pack(p, state);
    ask(Ask::kMetrics, std::move(p));
  }
  MetricsCheck trim_metrics(std::uint64_t step, const MetricsSeal& expected) const override {
    Packer words;
    words.put(step).put(expected.lines).put(expected.hash);
    const Bytes answer = ask(Ask::kTrim, std::move(words));
    Unpacker u(answer);
    MetricsCheck check;
    check.seal.lines = u.get<std::uint64_t>();
    check.seal.hash = u.text();
    check.cut = u.get<std::uint64_t>();
    check.damage = u.text();
    return check;
  }
  void write_checkpoint(std::span<const std::byte> checkpoint) const override {
    ask(Ask::kCheckpoint, Packer().put(checkpoint));
  }
  std::optional<std::string> checkpoint() const override { return path_of(false); }
  std::optional<std::string> previous_checkpoint() const override { return path_of(true); }
  void drop_checkpoint() const override { ask(Ask::kDrop, {}); }

 private:
  Bytes ask(Ask what, Packer words) const { return espalier::ask(ranks_, what, index_, std::move(words)); }
  std::optional<std::string> path_of(bool previous) const {
    const Bytes answer = ask(Ask::kHas, Packer().put(previous));
    const std::string path = Unpacker(answer).text();
    return path.empty() ? std::nullopt : std::optional(path);
  }

  Ranks& ranks_;
  std::size_t index_;
};

}  // namespace

bool SeedClient::begun(std::size_t index) {
  const Bytes answer = ask(ranks_, Ask::kBegun, index, {});
  return Unpacker(answer).get<bool>();
}

std::unique_ptr<RunFolder> SeedClient::open(std::size_t index, const std::string& path, const std::string& config) {
  const Bytes answer = ask(ranks_, Ask::kOpen, index, {});
  if (!Unpacker(answer).get<bool>()) return nullptr;
  return std::make_unique<RemoteFolder>(ranks_, index, path, config);
}

SeedStatus SeedClient::tell(std::size_t index, const RunEvent& event) {
  Packer p;
  p.put(event.kind).put(event.seed).put(event.text).put(event.state != nullptr);
  if (event.state) pack(p, *event.state);
  return status_from(ask(ranks_, Ask::kEvent, index, std::move(p)));
}

SeedStatus SeedClient::end(std::size_t index, const SeedReport& report, const Model* model) {
  Packer p;
  pack(p, report);
  p.put(text_of(report.error));
  p.put(model ? model_file(*model).serialize() : Bytes());
  return status_from(ask(ranks_, Ask::kEnd, index, std::move(p)));
}

SeedStatus SeedClient::idle(bool stopped) { return status_from(ask(ranks_, Ask::kIdle, 0, Packer().put(stopped))); }

// --- Answering.

Bytes SeedServer::answer(int from, Unpacker& request) {
  const auto what = request.get<Ask>();
  const auto index = static_cast<std::size_t>(request.get<std::uint64_t>());
  Unpacker words(request.bytes());
  const auto folder = [&]() -> RunFolder& {
    const auto found = folders_.find(index);
    if (found == folders_.end() || !found->second) fail("seeds over ranks", "no folder", "one that is open");
    return *found->second;
  };
  Packer p;
  switch (what) {
    case Ask::kBegun: p.put(host_.begun(index)); break;
    case Ask::kOpen:
      folders_[index] = host_.open(index);
      p.put(folders_[index] != nullptr);
      break;
    case Ask::kRead: p.put(folder().read(words.text()).serialize()); break;
    case Ask::kHas: {
      const auto path = words.get<bool>() ? folder().previous_checkpoint() : folder().checkpoint();
      p.put(path.value_or(""));
      break;
    }
    case Ask::kDrop: folder().drop_checkpoint(); break;
    case Ask::kTrim: {
      const auto step = words.get<std::uint64_t>();
      MetricsSeal expected;
      expected.lines = words.get<std::uint64_t>();
      expected.hash = words.text();
      const MetricsCheck check = folder().trim_metrics(step, expected);
      p.put(check.seal.lines).put(check.seal.hash).put(check.cut).put(check.damage);
      break;
    }
    case Ask::kMetrics: folder().append_metrics(unpack<TrainState>(words)); break;
    case Ask::kCheckpoint: folder().write_checkpoint(words.bytes()); break;
    case Ask::kWrite: {
      const std::string name = words.text();
      folder().write(name, words.bytes());
      break;
    }
    case Ask::kHasFile: p.put(folder().has(words.text())); break;
    case Ask::kReadMetrics: p.put(folder().metrics()); break;
    case Ask::kEvent: {
      RunEvent event{.kind = words.get<RunEvent::Kind>()};
      event.seed = words.get<std::uint64_t>();
      event.text = words.text();
      TrainState state;
      if (words.get<bool>()) {
        state = unpack<TrainState>(words);
        event.state = &state;
        if (state.best.passed) host_.note_solved(event.seed);
      }
      host_.emit(event);
      p.put(host_.status());
      break;
    }
    case Ask::kEnd: {
      auto report = unpack<SeedReport>(words);
      if (const std::string error = words.text(); !error.empty())
        report.error = std::make_exception_ptr(
            Error(error.starts_with("rank 0 on ") ? error
                                                  : fmt::format("rank {} on {}: {}", from, ranks_.host(from), error)));
      const auto model = words.bytes();
      if (report.passed) host_.note_solved(report.seed);
      host_.end(index, std::move(report),
                model.empty() ? nullptr
                              : load_model(SafetensorsFile::parse(model, "a model"), "a model of another rank").model);
      folders_.erase(index);
      p.put(host_.status());
      break;
    }
    case Ask::kIdle:
      idle_[static_cast<std::size_t>(from)] = true;
      if (words.get<bool>()) host_.stop();
      p.put(host_.status());
      break;
  }
  return p.take();
}

void SeedServer::serve(const std::function<bool()>& own_work_done) {
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  idle_.assign(ranks, false);
  gone_.assign(ranks, false);
  idle_[0] = gone_[0] = true;
  double looked = seconds_now();
  std::vector<double> heard(ranks, looked);
  const auto all = [](const std::vector<bool>& list) { return std::ranges::all_of(list, [](bool b) { return b; }); };
  while (!all(gone_) || !own_work_done()) {
    // A rank that was itself away, asleep or at work for one of the others, blames nobody for that time.
    const double away = seconds_now() - looked;
    looked += away;
    if (away > kAwaySeconds)
      for (double& time : heard) time += away;
    // Away for longer than the others wait, it has been given up by them and will be ended: they may be gone already.
    if (away > ranks_.patience_seconds())
      for (double& time : heard) time = looked + kEndSeconds;
    const auto request = ranks_.poll(kAskTag);
    if (!request) {
      for (std::size_t r = 1; r < ranks; ++r)
        if (!gone_[r] && looked - heard[r] > ranks_.patience_seconds())
          ranks_.give_up(static_cast<int>(r),
                         fmt::format("has not been heard from for {:.0f} s", ranks_.patience_seconds()));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      continue;
    }
    const auto from = static_cast<std::size_t>(request->from);
    // What was sent before that gives nobody a shorter time.
    heard[from] = std::max(heard[from], seconds_now());
    Unpacker peek(request->bytes), unpack(request->bytes);
    const auto what = peek.get<Ask>();
    const auto index = peek.get<std::uint64_t>();
    Packer reply;
    try {
      Bytes rest = answer(request->from, unpack);
      if (what == Ask::kIdle && all(idle_) && own_work_done()) {
        SeedStatus status = Unpacker(rest).get<SeedStatus>();
        status.all_ended = 1;
        rest = Packer().put(status).take();
        gone_[from] = true;
      }
      reply.put(false).put(rest);
    } catch (const std::exception& error) {
      reply = Packer();
      reply.put(true).put(fmt::format("rank 0 on {}: {}", ranks_.host(0), error.what()));
    }
    ranks_.send(request->from, kAnswerTag + static_cast<int>(what == Ask::kIdle ? 0 : index + 1), reply.take());
  }
}

}  // namespace espalier
