// Logic automata: rollouts soft and hard over NumPy boards [B, H, W, C], gradients, trials, pictures.
#include <cmath>
#include <optional>

#include "base/gif.hpp"
#include "common.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/lattice_verdict.hpp"
#include "models/lattice/lattice_view.hpp"
#include "runs/outputs.hpp"

namespace espalier::python {
namespace {

struct Shape {
  std::size_t boards, height, width, channels;
  std::size_t cells() const { return height * width; }
};

template <class T>
Shape shape_of(const InArray<T>& array, const char* what) {
  if (array.ndim() != 4)
    fail(what, std::to_string(array.ndim()) + " dimensions", "four: boards, height, width, channels");
  const Shape s{array.shape(0), array.shape(1), array.shape(2), array.shape(3)};
  if (s.boards * s.cells() * s.channels == 0 || s.boards > (1u << 24) || s.height > (1u << 20) || s.width > (1u << 20))
    fail(what,
         "boards of " + std::to_string(s.boards) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) +
             " x " + std::to_string(s.channels),
         "no empty dimension and none that is absurd");
  return s;
}

// [B][H][W][C] of NumPy to [B][C][H][W] of the engine, and back.
void to_planes(const float* from, const Shape& s, float* to) {
  for (std::size_t b = 0; b < s.boards; ++b)
    for (std::size_t cell = 0; cell < s.cells(); ++cell)
      for (std::size_t c = 0; c < s.channels; ++c) {
        const float value = from[(b * s.cells() + cell) * s.channels + c];
        if (!std::isfinite(value)) fail("boards", "a value that is NaN or infinite", "numbers from 0 to 1");
        to[(b * s.channels + c) * s.cells() + cell] = value;
      }
}

void from_planes(std::span<const float> from, const Shape& s, float* to) {
  for (std::size_t b = 0; b < s.boards; ++b)
    for (std::size_t c = 0; c < s.channels; ++c)
      for (std::size_t cell = 0; cell < s.cells(); ++cell)
        to[(b * s.cells() + cell) * s.channels + c] = from[(b * s.channels + c) * s.cells() + cell];
}

BoardBatch to_bits(const std::uint8_t* from, const Shape& s) {
  BoardBatch bits(s.boards, s.height, s.width, static_cast<int>(s.channels));
  for (std::size_t b = 0; b < s.boards; ++b)
    for (std::size_t cell = 0; cell < s.cells(); ++cell)
      for (std::size_t c = 0; c < s.channels; ++c) {
        const std::uint8_t value = from[(b * s.cells() + cell) * s.channels + c];
        if (value > 1) fail("boards", "a value of " + std::to_string(value), "0 or 1 for a hard rollout");
        if (value) bits.set(b, cell / s.width, cell % s.width, static_cast<int>(c), true);
      }
  return bits;
}

void from_bits(const BoardBatch& bits, const Shape& s, std::uint8_t* to) {
  for (std::size_t y = 0; y < s.height; ++y)
    for (std::size_t x = 0; x < s.width; ++x)
      for (std::size_t c = 0; c < s.channels; ++c)
        for (std::size_t w = 0; w < bits.words(); ++w) {
          const std::uint64_t word = bits.word(w, y, x, static_cast<int>(c));
          const std::size_t count = std::min<std::size_t>(64, s.boards - 64 * w);
          for (std::size_t b = 0; b < count; ++b)
            to[(((64 * w + b) * s.height + y) * s.width + x) * s.channels + c] = word >> b & 1;
        }
}

// Runs a cell; `history` keeps every state, or only the last.
nb::object run_cell(const Netlist& cell, bool periodic, const InArray<std::uint8_t>& initial, int steps, double rate,
                    std::uint64_t seed, bool history, int threads) {
  const Shape s = shape_of(initial, "rollout");
  if (steps < 0) fail("rollout", std::to_string(steps) + " steps", "0 or more");
  std::vector<std::size_t> shape{s.boards, s.height, s.width, s.channels};
  if (history) shape.insert(shape.begin(), static_cast<std::size_t>(steps) + 1);
  NewArray<std::uint8_t> out(shape);
  {
    nb::gil_scoped_release release;
    const ThreadPool pool(threads);
    BoardBatch boards = to_bits(initial.data(), s);
    const std::size_t size = s.boards * s.cells() * s.channels;
    std::optional<BoardBatch> fire, now;
    if (rate < 1 && steps > 0) {
      fire = draw_fire(boards, steps, rate, seed, 0);
      now.emplace(s.boards, s.height, s.width, 1);
    }
    if (!history || steps == 0) {
      if (steps) BatchSimulator(cell, {.periodic = periodic, .fire = fire ? &*fire : nullptr}).run(boards, steps, pool);
      from_bits(boards, s, out.data);
    } else {
      BatchSimulator simulator(cell, {.periodic = periodic, .fire = now ? &*now : nullptr});
      from_bits(boards, s, out.data);
      for (int t = 0; t < steps; ++t) {
        if (now)
          for (std::size_t w = 0; w < boards.words(); ++w)
            for (std::size_t y = 0; y < s.height; ++y)
              for (std::size_t x = 0; x < s.width; ++x) now->set_word(w, y, x, 0, fire->word(w, y, x, t));
        simulator.run(boards, 1, pool);
        from_bits(boards, s, out.data + (static_cast<std::size_t>(t) + 1) * size);
      }
    }
  }
  return out.take();
}

class PyAutomaton : public Guarded {
 public:
  PyAutomaton(const nb::list& settings, std::uint64_t seed, float start_logit, float start_wire_logit, int threads)
      : automaton_(options_from(settings), seed), seed_(seed), pool_(threads) {
    automaton_.add_parameters(parameters_, start_logit, start_wire_logit);
  }
  PyAutomaton(const std::shared_ptr<Model>& model, int threads)
      : automaton_(lattice_of(*model).automaton()), seed_(lattice_of(*model).seed()), pool_(threads) {
    const LatticeModel& lattice = lattice_of(*model);
    automaton_.add_parameters(parameters_, 0);
    std::ranges::copy(lattice.parameters().values(), parameters_.values().begin());
    model_ = std::static_pointer_cast<LatticeModel>(model);
  }

  int channels() const { return automaton_.options().channels; }  // of the soft gates; a circuit may have more
  bool periodic() const { return automaton_.options().boundary == Boundary::kPeriodic; }
  Parameters& parameters() { return parameters_; }
  const ThreadPool& pool() const { return pool_; }

  nb::object soft(const InArray<float>& initial, int steps, float rate, std::uint64_t seed, float temperature,
                  bool straight, bool history) {
    check_soft("rollout");
    const Shape s = checked(initial, "rollout");
    std::vector<std::size_t> shape{s.boards, s.height, s.width, s.channels};
    if (steps < 0) fail("rollout", std::to_string(steps) + " steps", "0 or more");
    if (history) shape.insert(shape.begin(), static_cast<std::size_t>(steps) + 1);
    NewArray<float> out(shape);
    work([&] {
      const std::size_t size = s.boards * s.cells() * s.channels;
      if (steps == 0) {
        std::copy(initial.data(), initial.data() + size, out.data);
        return;
      }
      // Who fires is drawn for all steps at once; of other rollouts only a few states are held beside the result.
      const int piece = rate < 1 ? steps : kHeldSteps;
      if (history) std::copy(initial.data(), initial.data() + size, out.data);
      load_initial(initial, s);
      for (int done = 0; done < steps;) {
        const int now = std::min(piece, steps - done);
        if (prepare(s, now, rate) || done == 0)
          rollout_->soften(parameters_.values(), {.temperature = temperature, .straight = straight}, pool_);
        rollout_->forward(initial_, seed, 0, pool_);
        for (int t = 1; history && t <= now; ++t)
          from_planes(rollout_->state(t), s, out.data + static_cast<std::size_t>(done + t) * size);
        initial_ = rollout_->state(now);
        done += now;
      }
      if (!history) from_planes(initial_, s, out.data);
    });
    return out.take();
  }

  nb::object hard(const InArray<std::uint8_t>& initial, int steps, double rate, std::uint64_t seed, bool history) {
    const Netlist cell =
        work([&] { return refined() ? model_->quick_cell() : harden_folded(automaton_, parameters_.values()); });
    if (initial.ndim() == 4 && initial.shape(3) != cell.outputs.size())
      wrong_channels(initial.shape(3), cell.outputs.size());
    return run_cell(cell, periodic(), initial, steps, rate, seed, history, pool_.threads());
  }

  double loss(const InArray<float>& initial, const InArray<float>& target, int steps, float rate, std::uint64_t seed,
              std::uint32_t step, const SoftChoice& choice, bool gradients) {
    check_soft("loss");
    const Shape s = checked(initial, "loss");
    const Shape t = shape_of(target, "loss");
    if (t.boards != s.boards || t.height != s.height || t.width != s.width || t.channels > s.channels)
      fail("loss", "targets of shape " + shape_text(target) + " for boards of shape " + shape_text(initial),
           "as many boards of the same size, and no more channels");
    return work([&] {
      prepare(s, steps, rate);
      load_initial(initial, s);
      target_.resize(target.size());
      to_planes(target.data(), t, target_.data());
      rollout_->soften(parameters_.values(), choice, pool_);
      const ForwardPass pass = rollout_->forward(initial_, seed, step, pool_);
      const double value = rollout_->loss(target_, static_cast<int>(t.channels), pool_);
      if (gradients) {
        rollout_->backward(pass, pool_);
        rollout_->add_gradients(parameters_.gradients(), pool_);
      }
      return value;
    });
  }

  // The circuit of a cell, with the board of what was learned if anything was.
  ExportableCircuit circuit(bool simplify, bool across_steps, bool from_start) {
    const CellForm form = !simplify      ? CellForm::kAsTrained
                          : across_steps ? CellForm::kAcrossSteps
                                         : CellForm::kSimplified;
    if (across_steps && !simplify) fail("circuit", "across_steps without simplify", "both, or neither");
    return work([&]() -> ExportableCircuit {
      if (model_ || across_steps) {
        const LatticeModel m = model();
        ProvedCircuit cell = prove_cell(m, {.form = form, .from_start = from_start});
        ExportOptions options = export_options(m, cell);
        return {std::move(cell), std::move(options)};
      }
      const Netlist cell = harden(automaton_, parameters_.values());
      ExportOptions options;
      options.periodic = periodic();
      return {simplify ? prove_and_simplify(cell) : ProvedCircuit::unproved(cell), options};
    });
  }

  // The cases that the circuit tells apart, and those of them that occur on these boards and in the steps after.
  SeenCases cases(const InArray<std::uint8_t>& initial, int steps, int judged) {
    const Shape s = shape_of(initial, "cases");
    return work([&] {
      const Netlist cell = refined() ? model_->quick_cell() : harden_folded(automaton_, parameters_.values());
      std::vector<Board> boards;
      const BoardBatch batch = to_bits(initial.data(), s);
      for (std::size_t n = 0; n < s.boards; ++n) boards.push_back(batch.board(n));
      return seen_cases(cell, judged, std::move(boards), steps, periodic());
    });
  }

  // What the model is judged by from now on: given boards and what they are to become.
  void set_examples(const std::string& name, const InArray<std::uint8_t>& start, const InArray<std::uint8_t>& target,
                    int steps, float rate) {
    const Shape s = shape_of(start, "examples"), t = shape_of(target, "examples");
    if (t.boards != s.boards || t.height != s.height || t.width != s.width)
      fail("examples", "targets of shape " + shape_text(target) + " for starts of shape " + shape_text(start),
           "as many boards of the same size");
    const auto bits = [](const InArray<std::uint8_t>& a) {
      std::vector<std::uint8_t> v(a.data(), a.data() + a.size());
      for (const std::uint8_t b : v)
        if (b > 1) fail("examples", "a value of " + std::to_string(b), "0 or 1");
      return v;
    };
    RolloutOptions r{.batch = 1,
                     .height = static_cast<int>(s.height),
                     .width = static_cast<int>(s.width),
                     .steps = steps,
                     .fire_rate = rate};
    BoardPairs pairs{name,
                     static_cast<int>(s.boards),
                     r.height,
                     r.width,
                     static_cast<int>(s.channels),
                     static_cast<int>(t.channels),
                     bits(start),
                     bits(target)};
    const auto guard = lock();
    LatticeModel model(automaton_, r, std::move(pairs), parameters_.values(), seed_);
    // A circuit that no weights made stays what runs.
    model_ = refined() ? std::shared_ptr<LatticeModel>(model.refined(model_->raw_cell()))
                       : std::make_shared<LatticeModel>(std::move(model));
  }
  // Of the circuit where no weights made it, else of the weights.
  std::string model_hash() {
    const auto guard = lock();
    return refined() ? model_->hash() : parameters_.hash();
  }
  bool is_refined() {
    const auto guard = lock();
    return refined();
  }
  // Of the circuit of now, wires and constants aside.
  long live() {
    return work(
        [&] { return live_gates(refined() ? model_->raw_cell() : harden_folded(automaton_, parameters_.values())); });
  }

  // The model with the weights of now; with the circuit that a search made of them, as long as they are the same.
  LatticeModel model() {
    const auto guard = lock();
    if (!model_)
      fail("model", "an automaton that has learned nothing yet", "one with a goal",
           "train_on() or learn_from() give it one");
    if (refined()) return *model_;
    LatticeModel now(automaton_, model_->rollout(), model_->shared_goal(), parameters_.values(), seed_);
    now.set_task(model_->task());
    return now;
  }
  bool has_goal() const { return model_ != nullptr; }

  std::vector<Trial> trials(std::uint64_t seed, std::uint64_t reset_steps) {
    const LatticeModel m = model();
    return work([&] { return run_trials(m, {.seed = seed, .reset_steps = reset_steps}, pool_); });
  }

  nb::object start(int height, int width, std::uint64_t seed) {
    const LatticeModel m = model();
    if (height < 1 || width < 1 || height > 1 << 16 || width > 1 << 16)
      fail("start", "a board of " + std::to_string(height) + " x " + std::to_string(width), "1 to 65536 cells a side");
    const BoardState state = m.start(height, width, seed);
    const auto cells = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    const auto depth = static_cast<std::size_t>(state.channels);
    NewArray<std::uint8_t> out({static_cast<std::size_t>(height), static_cast<std::size_t>(width), depth});
    for (std::size_t cell = 0; cell < cells; ++cell)
      for (std::size_t c = 0; c < depth; ++c) out.data[cell * depth + c] = state.values[c * cells + cell] > 0.5f;
    return out.take();
  }

  nb::dict facts() {
    const auto guard = lock();
    nb::dict d;
    AutomatonOptions options = automaton_.options();
    Fields fields = fields_of(options);
    for (const Field& f : fields.list()) d[f.name().c_str()] = to_python(f.value());
    d["gates"] = automaton_.gates();
    if (model_) {
      const LatticeModel now = model();
      d["goal"] = now.learned();
      d["loss_channels"] = now.loss_channels();
      d["channels"] = now.channels();
      d["refined"] = now.is_refined();
      if (now.is_refined()) d["gates"] = count_netlist(now.raw_cell()).gates();
      RolloutOptions r = model_->rollout();
      Fields more = fields_of(r);
      for (const Field& f : more.list()) d[f.name().c_str()] = to_python(f.value());
      const BoardView view = now.view();
      d["view"] = std::vector<std::uint64_t>{static_cast<std::uint64_t>(view.height),
                                             static_cast<std::uint64_t>(view.width), view.steps};
    }
    return d;
  }

 private:
  static AutomatonOptions options_from(const nb::list& settings) {
    AutomatonOptions options;
    Fields fields = fields_of(options);
    set_fields(fields, settings);
    return options;
  }
  static const LatticeModel& lattice_of(const Model& model) {
    const auto* lattice = dynamic_cast<const LatticeModel*>(&model);
    if (!lattice) fail("model", "a " + model.kind(), "a logic automaton");
    return *lattice;
  }
  bool refined() const {
    return model_ && model_->is_refined() && std::ranges::equal(model_->parameters().values(), parameters_.values());
  }
  // Another network would answer in its place: the weights are those that it began with.
  void check_soft(const char* what) const {
    if (refined())
      fail(what, "a circuit that no weights made, by search or construction", "a model with soft gates",
           "run it hard, or train with by=\"gradients\"; a run that begins with it (from_) makes its circuit soft "
           "gates");
  }
  [[noreturn]] static void wrong_channels(std::size_t got, std::size_t expected) {
    fail("boards", std::to_string(got) + (got == 1 ? " channel" : " channels"),
         std::to_string(expected) + ", those of the automaton",
         "boards are [boards, height, width, channels]; channels that the data do not have may start as 0");
  }
  Shape checked(const InArray<float>& initial, const char* what) const {
    const Shape s = shape_of(initial, what);
    const auto expected = static_cast<std::size_t>(channels());
    if (s.channels != expected) wrong_channels(s.channels, expected);
    return s;
  }
  // Makes room for a rollout; true when it is a new one, whose gates are still to be softened.
  bool prepare(const Shape& s, int steps, float rate) {
    const RolloutOptions r{.batch = static_cast<int>(s.boards),
                           .height = static_cast<int>(s.height),
                           .width = static_cast<int>(s.width),
                           .steps = steps,
                           .fire_rate = rate};
    const auto same = [&](const RolloutOptions& o) {
      return o.batch == r.batch && o.height == r.height && o.width == r.width && o.steps == r.steps &&
             o.fire_rate == r.fire_rate;
    };
    if (rollout_ && same(rollout_->options())) return false;
    check_rollout(r, channels());
    rollout_.reset();
    rollout_.emplace(automaton_, r);
    return true;
  }
  void load_initial(const InArray<float>& initial, const Shape& s) {
    initial_.resize(initial.size());
    to_planes(initial.data(), s, initial_.data());
  }

  static constexpr int kHeldSteps = 16;
  Automaton automaton_;
  Parameters parameters_;
  std::uint64_t seed_;
  ThreadPool pool_;
  std::optional<Rollout> rollout_;  // reused while shapes stay
  std::vector<float> initial_, target_;
  std::shared_ptr<LatticeModel> model_;  // goal and rollout of what was learned, if anything was
};

// frames: [T][H][W][3].
nb::bytes animation(const InArray<std::uint8_t>& frames, int zoom, int delay_ms) {
  if (frames.ndim() != 4 || frames.shape(3) != 3 || frames.size() == 0)
    fail("animation", "an array of shape " + shape_text(frames), "[frames, height, width, 3 colours]");
  if (zoom < 1 || zoom > 64) fail("animation", "a zoom of " + std::to_string(zoom), "1 to 64");
  std::vector<Image> images;
  const std::size_t size = frames.shape(1) * frames.shape(2) * 3;
  for (std::size_t t = 0; t < frames.shape(0); ++t) {
    Image image(static_cast<int>(frames.shape(2)), static_cast<int>(frames.shape(1)));
    std::copy_n(frames.data() + t * size, size, image.rgb.begin());
    images.push_back(enlarge(image, zoom));
  }
  const std::vector<std::byte> bytes = encode_gif(images, {.delay_ms = delay_ms});
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_lattice(nb::module_& m) {
  nb::class_<Trial>(m, "Trial", "One trial of a model: how many bits were right.")
      .def_ro("name", &Trial::name)
      .def_ro("description", &Trial::description)
      .def_ro("score", &Trial::score)
      .def_ro("exact", &Trial::exact)
      .def_ro("limit", &Trial::limit)
      .def("__repr__", [](const Trial& t) {
        return "<Trial " + t.name + ": " + std::to_string(100 * t.score) + " %" + (t.exact ? ", exact" : "") + ">";
      });
  nb::class_<PyAutomaton> automaton(m, "Automaton");
  bind_parameters(automaton);
  automaton.def(nb::init<const nb::list&, std::uint64_t, float, float, int>())
      .def(nb::init<const std::shared_ptr<Model>&, int>())
      .def("soft", &PyAutomaton::soft)
      .def("hard", &PyAutomaton::hard)
      .def("loss",
           [](PyAutomaton& a, const InArray<float>& initial, const InArray<float>& target, int steps, float rate,
              std::uint64_t seed, std::uint32_t step, float temperature, float gumbel, bool straight, bool gradients) {
             return a.loss(
                 initial, target, steps, rate, seed, step,
                 {.temperature = temperature, .gumbel_scale = gumbel, .seed = seed, .step = step, .straight = straight},
                 gradients);
           })
      .def("circuit", &PyAutomaton::circuit)
      .def("set_examples", &PyAutomaton::set_examples)
      .def("all_cases_seen", [](PyAutomaton& a, const InArray<std::uint8_t>& initial, int steps,
                                int judged) { return a.cases(initial, steps, judged).complete(); })
      .def("has_goal", &PyAutomaton::has_goal)
      .def("model_hash", &PyAutomaton::model_hash)
      .def("is_refined", &PyAutomaton::is_refined)
      .def("live_gates", &PyAutomaton::live)
      .def("trials", &PyAutomaton::trials)
      .def("start", &PyAutomaton::start)
      .def("facts", &PyAutomaton::facts)
      .def("save", [](PyAutomaton& a, const std::string& path, const nb::list& provenance) {
        const LatticeModel model = a.model();
        const std::string made = format_provenance(provenance_from(provenance));
        nb::gil_scoped_release release;
        check_named_output("save", path);
        save_model(path, model, {{"provenance", made}});
      });
  m.def("hard_rollout", [](const ExportableCircuit& c, bool periodic, const InArray<std::uint8_t>& initial, int steps,
                           double rate, std::uint64_t seed, bool history, int threads) {
    return run_cell(c.circuit.netlist(), periodic, initial, steps, rate, seed, history, threads);
  });
  m.def("animation", &animation);
}

}  // namespace espalier::python
