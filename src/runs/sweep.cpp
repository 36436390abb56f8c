#include "runs/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <thread>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "base/folder.hpp"
#include "espalier/error.hpp"
#include "runs/run_folder.hpp"

namespace espalier {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

// Settings as a folder's name: what may not stand in one becomes an underscore.
std::string folder_name(const Settings& settings) {
  std::string name;
  for (const char c : settings.empty() ? std::string("defaults") : name_of(settings))
    name += std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-=.,+").find(c) != std::string_view::npos
                ? c
                : '_';
  return name;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

}  // namespace

std::string name_of(const Settings& settings) {
  std::string name;
  for (const auto& [key, value] : settings) name += (name.empty() ? "" : " ") + key + "=" + value;
  return name;
}

std::vector<SweepAxis> parse_axes(const std::string& text) {
  std::vector<SweepAxis> axes;
  if (text.empty()) return axes;
  for (const std::string& part : split(text, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      fail("vary", part.empty() ? "an empty part" : part, "NAME=VALUE,VALUE,...",
           "for example start-logit=3,6,10;lr=0.05,0.1");
    SweepAxis axis{part.substr(0, equals), {}};
    const std::string values = part.substr(equals + 1);
    axis.values = split(values, values.find('|') == std::string::npos ? ',' : '|');
    const std::set<std::string> different(axis.values.begin(), axis.values.end());
    if (different.size() != axis.values.size()) fail("vary", part, "every value once");
    for (const SweepAxis& other : axes)
      if (other.name == axis.name) fail("vary", fmt::format("{} twice", axis.name), "every name once");
    axes.push_back(std::move(axis));
  }
  return axes;
}

bool is_set_by_sweep(std::string_view name) { return name == "seed" || name == "seeds" || name == "until-solved"; }

std::pair<double, double> Share::interval() const {
  if (trials == 0) return {0, 1};
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(trials);
  const double p = value(), middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

double time_to_solution(double seconds, double share) {
  if (share <= 0) return std::numeric_limits<double>::infinity();
  if (share >= 0.99) return seconds;  // one try is enough
  return seconds * std::log(0.01) / std::log1p(-share);
}

Share SweepRow::share() const {
  Share s;
  for (const SeedReport& seed : seeds) {
    s.solved += !seed.error && seed.solved;
    s.trials += !seed.error;
  }
  return s;
}

double SweepRow::mean_seconds() const {
  double sum = 0;
  for (const SeedReport& seed : seeds)
    if (!seed.error) sum += seed.seconds;
  const std::size_t trials = share().trials;
  return trials == 0 ? 0 : sum / static_cast<double>(trials);
}

Sweep::Sweep(const std::string& task, const Settings& fixed, std::vector<SweepAxis> axes, std::uint64_t first_seed,
             std::uint64_t seeds)
    : axes_(std::move(axes)), settings_{{}}, first_seed_(first_seed), seeds_(seeds) {
  if (seeds == 0) fail("sweep", "0 seeds", "at least 1");
  for (const SweepAxis& axis : axes_) {
    std::vector<Settings> longer;
    for (const Settings& before : settings_)
      for (const std::string& value : axis.values) {
        longer.push_back(before);
        longer.back().emplace_back(axis.name, value);
      }
    settings_ = std::move(longer);
    if (settings_.size() > 10'000) fail("sweep", "more than 10000 combinations", "fewer");
  }
  for (const Settings& own : settings_) {
    RunConfig config(find_task(task));
    config.budget = 0;  // one attempt, unless it is asked for more
    for (const Settings& settings : {fixed, own})
      for (const auto& [name, value] : settings) {
        if (is_set_by_sweep(name))
          fail("sweep", fmt::format("the setting \"{}\"", name), "one that a sweep does not set itself",
               "every trial is one seed, trained until the task is solved");
        config.set(name, value);
      }
    config.seeds = 1;
    config.train.until_solved = true;
    config.seed = first_seed;
    config.resolve();  // what is impossible fails here, before anything is trained
    configs_.push_back(std::move(config));
  }
}

void Sweep::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (RunControl* control : running_) control->stop();
}

SeedReport Sweep::trial(std::size_t combination, std::uint64_t seed, const std::string& folder) {
  RunConfig config = configs_[combination];
  config.seed = seed;
  const std::string path = RunFolder::seed_folder(folder + "/" + folder_name(settings_[combination]), seed);
  const bool begun = RunFolder::holds_run(path);
  Run run = begun ? Run::resume(path) : Run::create(config, {.folder = path});
  if (run.config().text() != config.text())
    fail("sweep", fmt::format("{}, made with other settings", path), "trials of this sweep", "use another folder");
  const struct Entry {  // in the list of what stop() stops
    Sweep& sweep;
    RunControl& control;
    Entry(Sweep& s, RunControl& c) : sweep(s), control(c) {
      const std::lock_guard lock(sweep.mutex_);
      sweep.running_.push_back(&control);
      if (sweep.stopped_) control.stop();
    }
    ~Entry() {
      const std::lock_guard lock(sweep.mutex_);
      std::erase(sweep.running_, &control);
    }
  } entry(*this, run.control());
  RunReport report;
  try {
    ThreadPool alone(1);
    report = run.train(alone);
  } catch (...) {  // also for want of memory
    report.seeds.assign(1, {.seed = seed, .outcome = "failed", .error = std::current_exception()});
  }
  SeedReport result = report.best();
  result.seed = seed;
  for (std::size_t i = 0; i < report.seeds.size(); ++i)  // all attempts
    if (i != report.winner) result.seconds += report.seeds[i].seconds;
  if (report.interrupted) result.outcome = "interrupted";
  return result;
}

namespace {

// What a sweep writes has fixed names: files of others must not be there when it begins. Later ones, such as a log,
// may.
void check_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  Folder(folder).remove_stale_temporaries();  // of a sweep that was killed while writing
  std::string other;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory()) {
      if (name != "lock") other = name;
      continue;
    }
    for (const fs::directory_entry& trial : fs::directory_iterator(entry.path()))
      if (trial.path().filename().string().starts_with("seed-") && RunFolder::holds_run(trial.path().string())) return;
    if (!fs::is_empty(entry.path())) other = name;
  }
  if (!other.empty())
    fail("sweep", fmt::format("{}, which holds {}", folder, other), "a new or empty folder, or that of a sweep",
         "choose another folder");
}

}  // namespace

std::vector<SweepRow> Sweep::run(const std::string& folder, const ThreadPool& pool,
                                 const std::function<void(std::size_t done, std::size_t solved)>& told) {
  make_folder(folder);
  const FileLock lock(folder + "/lock", folder, "sweeping in", FileLock::After::kRemove);
  const Folder own(folder);
  if (!own.try_own())
    fail("lock", fmt::format("{}, which another process is sweeping in", folder), "a place of its own");
  check_folder(folder);
  std::vector<SweepRow> rows(configs_.size());
  for (std::size_t c = 0; c < rows.size(); ++c) {
    rows[c].settings = settings_[c];
    rows[c].seeds.resize(seeds_);
    make_folder(folder + "/" + folder_name(settings_[c]));
  }
  // Seed by seed over all combinations, so that a sweep that is cut short compares like with like.
  std::atomic<std::size_t> next{0};
  std::size_t done = 0, solved = 0;
  std::mutex telling;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < trials() && !stopped_; i = next++) {
      const std::size_t c = i % rows.size(), s = i / rows.size();
      try {
        if (!own.is_at(folder))
          fail("sweep", fmt::format("{}, which was moved to {} while it was swept in", folder, own.whereabouts()),
               "a folder that stays where it is", "go on with it there");
        SeedReport report = trial(c, first_seed_ + s, folder);
        const std::lock_guard lock(telling);
        if (report.outcome != "interrupted") {
          ++done;
          solved += report.solved;
        }
        rows[c].seeds[s] = std::move(report);
        told(done, solved);
      } catch (...) {
        const std::lock_guard lock(telling);
        if (!failure) failure = std::current_exception();
        stopped_ = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (int k = 1; k < std::min<int>(pool.workers(), static_cast<int>(trials())); ++k) threads.emplace_back(work);
    } catch (const std::exception&) {  // no more threads, or no memory for one: the others do it all
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
  for (SweepRow& row : rows)  // only trials that came to their end count
    std::erase_if(row.seeds, [](const SeedReport& r) { return r.outcome == "waiting" || r.outcome == "interrupted"; });
  return rows;
}

std::string sweep_csv(const std::vector<SweepRow>& rows) {
  std::string text;
  for (const auto& [name, value] : rows.front().settings) text += name + ",";
  text += "seed,solved,steps,best_step,score,validation_score,validation_loss,seconds,outcome,model_hash\n";
  const auto cell = [](const std::string& value) {
    return value.find(',') == std::string::npos ? value : "\"" + value + "\"";
  };
  for (const SweepRow& row : rows)
    for (const SeedReport& r : row.seeds) {
      for (const auto& [name, value] : row.settings) text += cell(value) + ",";
      text += fmt::format("{},{},{},{},{},{},{},{:.3f},{},{}\n", r.seed, r.solved ? 1 : 0, r.steps, r.best_step,
                          r.verdict.judged() ? fmt::format("{}", r.verdict.score) : "", r.validation_score,
                          r.validation_loss, r.seconds, r.outcome, r.model_hash);
    }
  return text;
}

std::string sweep_picture(const std::vector<SweepRow>& rows, const std::string& title) {
  constexpr int kRow = 26, kLabel = 260, kBar = 320, kTop = 48;
  const int height = kTop + kRow * static_cast<int>(rows.size()) + 34;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"24\" font-size=\"15\">{2}</text>\n",
      kLabel + kBar + 150, height, escaped(title));
  const auto x = [](double share) { return kLabel + kBar * share; };
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Share share = rows[k].share();
    const auto [low, high] = share.interval();
    const int y = kTop + kRow * static_cast<int>(k);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLabel - 8, y + 15,
                       escaped(rows[k].settings.empty() ? "defaults" : name_of(rows[k].settings)));
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"14\" fill=\"#56b4e9\"/>\n", kLabel, y + 4,
                       kBar * share.value());
    svg += fmt::format(
        "<path d=\"M{:.1f} {}H{:.1f}M{:.1f} {}v8M{:.1f} {}v8\" stroke=\"#222222\" stroke-width=\"1.5\" "
        "fill=\"none\"/>\n",
        x(low), y + 11, x(high), x(low), y + 7, x(high), y + 7);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{} of {}, TTS99 {}</text>\n", kLabel + kBar + 10, y + 15, share.solved,
                       share.trials, std::isfinite(rows[k].tts99()) ? fmt::format("{:.1f} s", rows[k].tts99()) : "-");
  }
  const int bottom = kTop + kRow * static_cast<int>(rows.size());
  for (const int percent : {0, 25, 50, 75, 100})
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1}v6\" stroke=\"#222222\"/><text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3} "
        "%</text>\n",
        x(percent / 100.0), bottom, bottom + 20, percent);
  return svg + "</svg>\n";
}

}  // namespace espalier
