#include "replay.hpp"

#include <fmt/format.h>

#include <functional>
#include <span>

#include "arguments.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "espalier/error.hpp"
#include "models/lattice/lattice_view.hpp"

namespace espalier::app {
namespace {

using Json = nlohmann::json;

// One plane: rows of one length.
void read_rows(const Json& rows, Board& board, int channel, const std::function<void(std::string_view)>& refuse) {
  if (!rows.is_array() || rows.size() != board.height()) refuse("rows of another number");
  for (std::size_t y = 0; y < board.height(); ++y) {
    if (!rows[y].is_string()) refuse("a row that is no text");
    const std::string& row = rows[y].get_ref<const std::string&>();
    if (row.size() != board.width() || row.find_first_not_of("#.") != std::string::npos)
      refuse(fmt::format("the row {}", in_quotes(row)));
    for (std::size_t x = 0; x < row.size(); ++x) board.set(y, x, channel, row[x] == '#');
  }
}

class ReplayStepper : public Stepper {
 public:
  ReplayStepper(const LatticeModel& model, const Replay& replay)
      : board_(replay.start),
        fires_(replay.fires),
        simulator_(model.raw_cell(), board_.height(), board_.width(), {.periodic = model.periodic()}) {}

  void advance(std::uint64_t steps, const ThreadPool& pool) override {
    for (; steps > 0 && moment_ < fires_.size(); --steps, ++moment_) {
      Board next = board_;
      simulator_.run(next, 1, pool);
      for (std::size_t y = 0; y < board_.height(); ++y)
        for (std::size_t x = 0; x < board_.width(); ++x)
          for (int c = 0; fires_[moment_].get(y, x, 0) && c < board_.channels(); ++c)
            board_.set(y, x, c, next.get(y, x, c));
    }
  }
  BoardState state() const override { return state_of(board_); }
  Figures figures() const override {
    return {static_cast<double>(board_.count(0)), Hasher().add(std::span<const float>(state().values)).hex()};
  }

 private:
  Board board_;
  std::vector<Board> fires_;
  std::size_t moment_ = 0;
  Simulator simulator_;
};

}  // namespace

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

bool is_replay(std::string_view text) { return text.starts_with('{'); }

Replay parse_replay(std::string_view text, const std::string& what, const LatticeModel& model) {
  const auto refuse = [&](std::string_view got) {
    fail("start", fmt::format("{} with {}", what, got), "what prove --json wrote for this model");
  };
  const Json j = parse_json(text, what);
  const auto found = j.find("counter_example");
  if (found == j.end() || !found->is_object()) {
    const auto verdict = j.find("verdict");
    refuse(verdict == j.end() ? "no counter-example" : "no counter-example: verdict " + shown_json(*verdict));
  }
  const auto field = [&](const char* name) -> const Json& {
    const auto at = found->find(name);
    if (at == found->end()) refuse(fmt::format("no \"{}\" in its counter-example", name));
    return *at;
  };
  const Json& channels = field("start");
  if (!channels.is_array() || channels.size() != static_cast<std::size_t>(model.channels()))
    refuse(fmt::format("{} as channels, for a model of {}", shown_json(channels), model.channels()));
  const Json& first = channels[0];
  if (!first.is_array() || first.empty() || first.size() > kMaxSide || !first[0].is_string() ||
      first[0].get_ref<const std::string&>().empty() || first[0].get_ref<const std::string&>().size() > kMaxSide)
    refuse("a start without rows");
  const std::size_t height = first.size(), width = first[0].get_ref<const std::string&>().size();
  Replay replay{Board(height, width, model.channels())};
  for (int c = 0; c < model.channels(); ++c) read_rows(channels[static_cast<std::size_t>(c)], replay.start, c, refuse);
  const Json &steps = field("steps"), &updates = field("updates");
  if (!steps.is_number_unsigned() || steps.get<std::uint64_t>() > 1'000'000'000)
    refuse(fmt::format("{} steps", shown_json(steps)));
  replay.steps = steps.get<std::uint64_t>();
  if (!updates.is_array() || (!updates.empty() && updates.size() != replay.steps))
    refuse(fmt::format("{} of updates for {} steps", shown_json(updates), replay.steps));
  for (const Json& update : updates) read_rows(update, replay.fires.emplace_back(height, width, 1), 0, refuse);
  return replay;
}

std::unique_ptr<Stepper> make_replay_stepper(const LatticeModel& model, const Replay& replay) {
  return std::make_unique<ReplayStepper>(model, replay);
}

}  // namespace espalier::app
