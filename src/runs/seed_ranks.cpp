#include "runs/seed_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "runs/run_pictures.hpp"

namespace espalier {
namespace {

enum class Ask : std::uint8_t {
  kOpen,
  kRead,
  kHas,
  kDrop,
  kTrim,
  kMetrics,
  kModel,
  kCheckpoint,
  kPictures,
  kEvent,
  kEnd,
  kIdle
};

constexpr int kAskTag = 2, kAnswerTag = 3;  // answers: one tag for each seed, and one for idle ranks before them

// --- What is told, as bytes.

void pack(Packer& p, const Evaluation& e) {
  p.put(e.score).put(e.solved).put(e.loss).put(static_cast<std::uint64_t>(e.extra.size()));
  for (const auto& [name, value] : e.extra) p.put(name).put(value);
}

Evaluation evaluation_from(Unpacker& u) {
  Evaluation e;
  e.score = u.get<double>();
  e.solved = u.get<bool>();
  e.loss = u.get<double>();
  for (auto left = u.get<std::uint64_t>(); left > 0; --left) {
    std::string name = u.text();
    e.extra.emplace_back(std::move(name), u.get<double>());
  }
  return e;
}

// All but the weights.
void pack(Packer& p, const TrainState& s) {
  p.put(s.step).put(s.loss).put(s.best_step).put(s.evaluated).put(s.seconds);
  pack(p, s.last);
  pack(p, s.best);
}

TrainState state_from(Unpacker& u) {
  TrainState s;
  s.step = u.get<std::uint64_t>();
  s.loss = u.get<double>();
  s.best_step = u.get<std::uint64_t>();
  s.evaluated = u.get<bool>();
  s.seconds = u.get<double>();
  s.last = evaluation_from(u);
  s.best = evaluation_from(u);
  return s;
}

void pack(Packer& p, const FieldValue& value) {
  p.put(static_cast<std::uint8_t>(value.index()));
  std::visit([&](const auto& v) { p.put(v); }, value);
}

FieldValue value_from(Unpacker& u) {
  switch (u.get<std::uint8_t>()) {
    case 0: return u.get<bool>();
    case 1: return u.get<std::int64_t>();
    case 2: return u.get<std::uint64_t>();
    case 3: return u.get<double>();
    default: return u.text();
  }
}

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

void pack(Packer& p, const SeedReport& r) {
  p.put(r.seed).put(r.steps).put(r.best_step).put(r.loss).put(r.score).put(r.validation_loss);
  p.put(r.solved).put(r.started).put(r.outcome).put(r.seconds).put(r.phases).put(r.phase_steps);
  p.put(static_cast<std::uint64_t>(r.num_parameters)).put(r.weights_hash).put(r.score_text).put(text_of(r.error));
  p.put(static_cast<std::uint64_t>(r.facts.size()));
  for (const auto& [name, value] : r.facts) {
    p.put(name);
    pack(p, value);
  }
}

SeedReport report_from(Unpacker& u) {
  SeedReport r;
  r.seed = u.get<std::uint64_t>();
  r.steps = u.get<std::uint64_t>();
  r.best_step = u.get<std::uint64_t>();
  r.loss = u.get<double>();
  r.score = u.get<double>();
  r.validation_loss = u.get<double>();
  r.solved = u.get<bool>();
  r.started = u.get<bool>();
  r.outcome = u.text();
  r.seconds = u.get<double>();
  r.phases = u.get<PhaseSeconds>();
  r.phase_steps = u.get<std::uint64_t>();
  r.num_parameters = u.get<std::uint64_t>();
  r.weights_hash = u.text();
  r.score_text = u.text();
  if (const std::string error = u.text(); !error.empty()) r.error = std::make_exception_ptr(Error(error));
  for (auto left = u.get<std::uint64_t>(); left > 0; --left) {
    std::string name = u.text();
    r.facts.emplace_back(std::move(name), value_from(u));
  }
  return r;
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

SeedNews news_from(const Bytes& answer) { return Unpacker(answer).get<SeedNews>(); }

// A run folder that lies with rank 0.
class RemoteFolder : public RunFolder {
 public:
  RemoteFolder(Ranks& ranks, std::size_t index, const std::string& path, const std::string& config)
      : RunFolder(path, config, nullptr), ranks_(ranks), index_(index) {}

  SafetensorsFile read(const std::string& path) const override {
    const Bytes answer = ask(Ask::kRead, Packer().put(path));
    return SafetensorsFile::parse(Unpacker(answer).bytes(), path);
  }
  void write_model(const SafetensorsFile& file) const override { ask(Ask::kModel, Packer().put(file.serialize())); }
  bool drawn_elsewhere(bool only_missing) const override {
    ask(Ask::kPictures, Packer().put(only_missing));
    return true;
  }
  void append_metrics(const TrainState& state) const override {
    Packer p;
    pack(p, state);
    ask(Ask::kMetrics, std::move(p));
  }
  void trim_metrics(std::uint64_t step) const override { ask(Ask::kTrim, Packer().put(step)); }
  void write_checkpoint(const SafetensorsFile& checkpoint) const override {
    ask(Ask::kCheckpoint, Packer().put(checkpoint.serialize()));
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

std::unique_ptr<RunFolder> SeedClient::open(std::size_t index, const std::string& path, const std::string& config) {
  const Bytes answer = ask(ranks_, Ask::kOpen, index, {});
  if (!Unpacker(answer).get<bool>()) return nullptr;
  return std::make_unique<RemoteFolder>(ranks_, index, path, config);
}

SeedNews SeedClient::tell(std::size_t index, const RunEvent& event) {
  Packer p;
  p.put(event.kind).put(event.seed).put(event.text).put(event.state != nullptr);
  if (event.state) pack(p, *event.state);
  return news_from(ask(ranks_, Ask::kEvent, index, std::move(p)));
}

SeedNews SeedClient::end(std::size_t index, const SeedReport& report, const Model* model) {
  Packer p;
  pack(p, report);
  p.put(model ? model_file(*model).serialize() : Bytes());
  return news_from(ask(ranks_, Ask::kEnd, index, std::move(p)));
}

SeedNews SeedClient::idle(bool stopped) { return news_from(ask(ranks_, Ask::kIdle, 0, Packer().put(stopped))); }

// --- Answering.

Bytes SeedServer::answer(int from, Unpacker& request, const ThreadPool& pool) {
  const auto what = request.get<Ask>();
  const auto index = static_cast<std::size_t>(request.get<std::uint64_t>());
  Unpacker words(request.bytes());
  const auto file_of = [&] { return SafetensorsFile::parse(words.bytes(), fmt::format("a file of rank {}", from)); };
  const auto folder = [&]() -> RunFolder& {
    const auto found = folders_.find(index);
    if (found == folders_.end() || !found->second) fail("seeds over ranks", "no folder", "one that is open");
    return *found->second;
  };
  Packer p;
  switch (what) {
    case Ask::kOpen:
      folders_[index] = host_.open(index);
      p.put(folders_[index] != nullptr);
      break;
    case Ask::kRead: p.put(read_safetensors(words.text()).serialize()); break;
    case Ask::kHas: {
      const auto path = words.get<bool>() ? folder().previous_checkpoint() : folder().checkpoint();
      p.put(path.value_or(""));
      break;
    }
    case Ask::kDrop: folder().drop_checkpoint(); break;
    case Ask::kTrim: folder().trim_metrics(words.get<std::uint64_t>()); break;
    case Ask::kMetrics: folder().append_metrics(state_from(words)); break;
    case Ask::kModel: folder().write_model(file_of()); break;
    case Ask::kCheckpoint: folder().write_checkpoint(file_of()); break;
    case Ask::kPictures: {
      const bool only_missing = words.get<bool>();
      write_run_pictures(folder(), *load_model(folder().model()).model, pool, only_missing);
      break;
    }
    case Ask::kEvent: {
      RunEvent event{.kind = words.get<RunEvent::Kind>()};
      event.seed = words.get<std::uint64_t>();
      event.text = words.text();
      TrainState state;
      if (words.get<bool>()) {
        state = state_from(words);
        event.state = &state;
        if (state.best.solved) host_.note_solved(event.seed);
      }
      host_.emit(event);
      p.put(host_.news());
      break;
    }
    case Ask::kEnd: {
      SeedReport report = report_from(words);
      const auto model = words.bytes();
      if (report.solved) host_.note_solved(report.seed);
      host_.end(index, std::move(report),
                model.empty() ? nullptr
                              : load_model(SafetensorsFile::parse(model, "a model"), "a model of another rank").model);
      folders_.erase(index);
      p.put(host_.news());
      break;
    }
    case Ask::kIdle:
      idle_[static_cast<std::size_t>(from)] = true;
      if (words.get<bool>()) host_.stop();
      p.put(host_.news());
      break;
  }
  return p.take();
}

void SeedServer::serve(const std::function<bool()>& own_work_done, const ThreadPool& pool) {
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  idle_.assign(ranks, false);
  gone_.assign(ranks, false);
  idle_[0] = gone_[0] = true;
  std::vector<double> heard(ranks, seconds_now());
  const auto all = [](const std::vector<bool>& list) { return std::ranges::all_of(list, [](bool b) { return b; }); };
  while (!all(gone_) || !own_work_done()) {
    const auto request = ranks_.poll(kAskTag);
    if (!request) {
      for (std::size_t r = 1; r < ranks; ++r)
        if (!gone_[r] && seconds_now() - heard[r] > ranks_.patience_seconds())
          ranks_.give_up(static_cast<int>(r),
                         fmt::format("has not been heard of for {:.0f} s", ranks_.patience_seconds()));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      continue;
    }
    const auto from = static_cast<std::size_t>(request->from);
    heard[from] = seconds_now();
    Unpacker peek(request->bytes), unpack(request->bytes);
    const auto what = peek.get<Ask>();
    const auto index = peek.get<std::uint64_t>();
    Packer reply;
    try {
      Bytes rest = answer(request->from, unpack, pool);
      if (what == Ask::kIdle && all(idle_) && own_work_done()) {
        SeedNews news = Unpacker(rest).get<SeedNews>();
        news.all_ended = 1;
        rest = Packer().put(news).take();
        gone_[from] = true;
      }
      reply.put(false).put(rest);
    } catch (const std::exception& error) {
      reply = Packer();
      reply.put(true).put(std::string(error.what()));
    }
    ranks_.send(request->from, kAnswerTag + static_cast<int>(what == Ask::kIdle ? 0 : index + 1), reply.take());
  }
}

}  // namespace espalier
