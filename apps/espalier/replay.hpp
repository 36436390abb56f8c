// A board that breaks a claim, out of what prove --json has written, to be run again.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/lattice_model.hpp"

namespace espalier::app {

// Every channel as its rows, a '#' for each 1 and a '.' for each 0.
nlohmann::json rows_of(const Board& board);

struct Replay {
  Board start;
  std::uint64_t steps = 0;
  std::vector<Board> fires = {};  // asynchronous: who updates at each moment, one channel
};

bool is_replay(std::string_view text);  // by its first character
// Errors name `what`, and the field that is not as prove writes it.
Replay parse_replay(std::string_view text, const std::string& what, const LatticeModel& model);
// At each moment only the cells of the replay's own updates change; afterwards none does.
std::unique_ptr<Stepper> make_replay_stepper(const LatticeModel& model, const Replay& replay);

}  // namespace espalier::app
