#include "runs/run_pictures.hpp"

#include <cstdlib>
#include <sstream>

#include "base/files.hpp"
#include "base/gif.hpp"
#include "base/plot.hpp"
#include "models/lattice/stepper.hpp"

namespace espalier {
namespace {

constexpr int kLifeSide = 48, kLifeSteps = 60, kPictureSide = 320, kFrameMs = 120;

// Columns epoch, loss and validation_loss of metrics.csv.
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
  return line_chart({soft, hard}, {.title = "Loss", .x_label = "epoch", .y_label = "loss", .log_y = true});
}

std::string gate_chart(const LatticeModel& model) {
  const GateCounts counts = count_gates(model.parameters.values());
  std::vector<std::pair<std::string, double>> bars;
  for (int gate = 0; gate < kGates; ++gate)
    bars.emplace_back(kGateNames[gate], static_cast<double>(counts.histogram[gate]));
  return bar_chart(bars, {.title = "Gates as trained", .y_label = "gates"});
}

void write_growth(const LatticeModel& model, const std::string& path, const ThreadPool& pool) {
  const bool life = model.task() == "life";
  const int height = life ? kLifeSide : model.problem.rollout.height;
  const int width = life ? kLifeSide : model.problem.rollout.width;
  const int steps = life ? kLifeSteps : 2 * model.problem.rollout.steps;
  SimulatorOptions options;
  options.periodic = model.automaton.options().boundary == Boundary::kPeriodic;
  options.fire_rate = model.problem.rollout.fire_rate;
  const auto stepper = make_hard_stepper(model, start_board(model, height, width, 1), options);
  const int scale = std::max(1, kPictureSide / std::max(height, width));
  std::vector<Image> frames{enlarge(view_board(model, stepper->state()), scale)};
  for (int t = 0; t < std::min(steps, 200); ++t) {
    stepper->advance(1, pool);
    frames.push_back(enlarge(view_board(model, stepper->state()), scale));
  }
  write_gif(path, frames, {kFrameMs, 1500, 0});
}

}  // namespace

void write_run_pictures(const RunFolder& folder, const ThreadPool& pool) {
  const std::string model_path = folder.file("model.safetensors");
  write_atomically(folder.file("loss.svg"), std::string_view(loss_chart(read_text(folder.file("metrics.csv")))));
  if (!is_lattice_model(read_safetensors(model_path))) return;
  const LatticeModel model = load_lattice_model(model_path);
  write_atomically(folder.file("gates.svg"), std::string_view(gate_chart(model)));
  if (std::max(model.problem.rollout.height, model.problem.rollout.width) <= kPictureSide)
    write_growth(model, folder.file("growth.gif"), pool);
}

}  // namespace espalier
