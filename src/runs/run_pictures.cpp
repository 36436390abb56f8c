#include "runs/run_pictures.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/files.hpp"
#include "base/gif.hpp"
#include "base/plot.hpp"
#include "models/lattice/lattice_model.hpp"

namespace espalier {
namespace {

constexpr int kMaxSide = 48;  // of boards that may be of any size
constexpr std::uint64_t kMaxSteps = 60;
constexpr int kPictureSide = 320, kFrameMs = 120;

// Columns step, loss and validation_loss of metrics.csv.
std::string loss_chart(const std::string& metrics) {
  Series soft{"training loss", {}, {}}, hard{"validation loss", {}, {}};
  std::istringstream lines(metrics);
  std::string line;
  std::getline(lines, line);  // header
  while (std::getline(lines, line)) {
    double column[5] = {};
    const char* at = line.c_str();
    for (double& value : column) {
      char* end = nullptr;
      value = std::strtod(at, &end);
      at = *end == ',' ? end + 1 : end;
    }
    soft.x.push_back(column[0]);
    soft.y.push_back(column[2]);
    hard.x.push_back(column[0]);
    hard.y.push_back(column[4]);
  }
  return line_chart({soft, hard}, {.title = "Loss", .x_label = "step", .y_label = "loss", .log_y = true});
}

std::string gate_chart(const LatticeModel& model) {
  const GateCounts counts = count_gates(model.parameters().values());
  std::vector<std::pair<std::string, double>> bars;
  for (int gate = 0; gate < kGates; ++gate)
    bars.emplace_back(kGateNames[gate], static_cast<double>(counts.histogram[gate]));
  return bar_chart(bars, {.title = "Gates as trained", .y_label = "gates"});
}

void write_growth(const LatticeModel& model, const std::string& path, const ThreadPool& pool) {
  const RolloutOptions& trained = model.rollout();
  const LatticeGoal::View view = model.goal().view(trained);
  // A rule is at home on any board: one that fits the picture.
  const bool any_size = view.height != trained.height;
  const int height = any_size ? kMaxSide : view.height, width = any_size ? kMaxSide : view.width;
  const std::uint64_t steps = any_size ? kMaxSteps : 2 * static_cast<std::uint64_t>(trained.steps);
  SimulatorOptions options;
  options.periodic = model.periodic();
  options.fire_rate = trained.fire_rate;
  const auto stepper = make_stepper(model, model.start(height, width, 1), options, false);
  const int scale = std::max(1, kPictureSide / std::max(height, width));
  std::vector<Image> frames{enlarge(view_board(model, stepper->state()), scale)};
  for (std::uint64_t t = 0; t < std::min<std::uint64_t>(steps, 200); ++t) {
    stepper->advance(1, pool);
    frames.push_back(enlarge(view_board(model, stepper->state()), scale));
  }
  write_gif(path, frames, {kFrameMs, 1500, 0});
}

}  // namespace

void write_run_pictures(const RunFolder& folder, const Model& model, const ThreadPool& pool, bool only_missing) {
  const auto wanted = [&](const char* name) { return !only_missing || !std::filesystem::exists(folder.file(name)); };
  if (wanted("loss.svg"))
    write_atomically(folder.file("loss.svg"), std::string_view(loss_chart(read_text(folder.file("metrics.csv")))));
  const auto* lattice = dynamic_cast<const LatticeModel*>(&model);
  if (!lattice) return;
  if (wanted("gates.svg")) write_atomically(folder.file("gates.svg"), std::string_view(gate_chart(*lattice)));
  const RolloutOptions& trained = lattice->rollout();
  if (wanted("growth.gif") && std::max(trained.height, trained.width) <= kPictureSide)
    write_growth(*lattice, folder.file("growth.gif"), pool);
}

}  // namespace espalier
