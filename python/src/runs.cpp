// Tasks, runs and model files. A run trains on a thread of its own while the calling one hears Ctrl-C and calls back.
#include <nanobind/stl/map.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "common.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "espalier/run_record.hpp"
#include "runs/event_queue.hpp"
#include "runs/outputs.hpp"
#include "runs/report_values.hpp"

namespace espalier::python {
namespace {

// In the order of RunEvent::Kind.
constexpr const char* kKinds[] = {"seed_started", "step",     "evaluated",  "checkpoint",
                                  "search",       "snapshot", "seed_ended", "message"};

nb::dict report_of(const SeedReport& r) {
  nb::dict d;
  for (const auto& [name, value] : values_of(r)) d[name] = value ? to_python(*value) : nb::object(nb::none());
  d["loss"] = r.started ? nb::cast(r.loss) : nb::object(nb::none());
  d["provenance"] = to_python(r.provenance);
  d["facts"] = to_python(r.facts);
  d["error"] = r.error ? nb::object(nb::str(text_of(r.error).c_str())) : nb::none();
  return d;
}

// What was raised, as an object: before Python 3.12 a signal may leave its type alone.
nb::object exception_of(const nb::python_error& error) {
  const nb::object value = nb::borrow(error.value());
  if (value.is_valid() && PyExceptionInstance_Check(value.ptr())) return value;
  return value.is_valid() ? error.type()(value) : error.type()();
}

RunConfig config_of(const std::string& name, const nb::list& settings, bool published) {
  const Task& task = find_task(name);
  RunConfig config(task);
  if (published && task.published.empty())
    fail("published", "the task " + task.name, "one of a publication", "leave it out");
  if (published)
    for (const auto& [field, value] : task.published) config.set(field, value);
  Fields fields = config.fields();
  set_fields(fields, settings);
  return config;
}

class TrainingRun {
 public:
  TrainingRun(const std::string& task, const nb::list& settings, const std::string& folder, bool force, bool published,
              std::uint64_t checkpoint_every)
      : run_(Run::create(config_of(task, settings, published),
                         {.folder = folder, .force = force, .checkpoint_every = checkpoint_every})) {
    describe();
  }
  TrainingRun(const std::string& folder, std::uint64_t steps, std::uint64_t budget, std::uint64_t checkpoint_every)
      : run_(Run::resume(folder, {.checkpoint_every = checkpoint_every}, steps, budget)) {
    describe();
  }

  nb::dict train(int threads, nb::object callback, double seconds) {
    if (!run_) fail("train", "a run that was trained already", "a new one", "espalier.resume(folder) goes on");
    Run& run = *run_;
    const bool wanted = !callback.is_none();
    EventReader reader(queue_);
    run.listen([this](const RunEvent& event) { queue_.push(event); });
    RunReport report;
    std::exception_ptr failure;
    std::thread worker([&] {
      try {
        ThreadPool pool(threads);
        report = run.train(pool);
      } catch (...) {
        failure = std::current_exception();
      }
      queue_.close();
    });
    // From here on the thread is joined whatever Python code raises.
    nb::object raised;
    bool interrupted = false, over = false, out_of_time = false;
    const auto begin = std::chrono::steady_clock::now();
    while (!over) {
      std::list<EventCopy> events;
      {
        nb::gil_scoped_release release;
        over = !reader.wait(std::chrono::milliseconds(50));
        events = reader.take();
      }
      if (PyErr_CheckSignals() != 0) {
        const nb::python_error error;  // whatever a signal's handler raised
        if (error.matches(PyExc_KeyboardInterrupt))
          interrupted = true;
        else if (!raised.is_valid())
          raised = exception_of(error);
        run.control().stop();
      }
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (seconds > 0 && passed.count() >= seconds && !over && !out_of_time) {
        out_of_time = true;
        run.control().stop();
      }
      for (const EventCopy& event : events) {
        if (event.kind == RunEvent::Kind::kEvaluated) evaluations_.push_back(event);
        if (!wanted || raised.is_valid()) continue;
        try {
          const nb::object answer = callback(event);
          if (answer.is(Py_False)) run.control().stop();
        } catch (nb::python_error& error) {
          raised = exception_of(error);
          run.control().stop();
        }
      }
    }
    {
      nb::gil_scoped_release release;
      worker.join();
      try {
        if (!failure) best_ = run.best_model();
      } catch (const Error&) {  // stopped before the first evaluation
      }
      run_.reset();  // and with it the folder's lock
    }
    if (failure) std::rethrow_exception(failure);
    nb::dict d;
    nb::list seeds;
    for (const SeedReport& seed : report.seeds) seeds.append(report_of(seed));
    d["seeds"] = seeds;
    d["winner"] = report.winner;
    d["interrupted"] = report.interrupted;
    d["keyboard"] = interrupted;
    d["raised"] = raised.is_valid() ? raised : nb::none();
    d["seconds"] = report.seconds;
    return d;
  }

  const std::string& folder() const { return folder_; }
  const std::string& task() const { return task_; }
  const std::string& config() const { return config_; }
  std::vector<EventCopy> evaluations() const { return evaluations_; }
  std::shared_ptr<Model> best_model() const {
    if (!best_) fail("best model", "a run before its first evaluation", "one that was evaluated");
    return best_;
  }

 private:
  void describe() {
    folder_ = run_->folder();
    task_ = run_->config().task;
    config_ = run_->config().text();
  }

  std::optional<Run> run_;  // until it was trained
  std::string folder_, task_, config_;
  std::shared_ptr<Model> best_;
  EventQueue queue_;
  std::vector<EventCopy> evaluations_;
};

nb::list fields_of_task(const std::string& name) {
  RunConfig config(find_task(name));
  Fields fields = config.fields();
  nb::list list;
  for (const Field& field : fields.list()) {
    nb::dict d;
    d["name"] = field.name();
    d["help"] = field.help();
    d["default"] = to_python(field.value());
    d["choices"] = field.choices();
    list.append(d);
  }
  return list;
}

}  // namespace

void bind_runs(nb::module_& m) {
  nb::class_<EventCopy>(m, "Event", "What happened in a run: see espalier.train.")
      .def_prop_ro("kind", [](const EventCopy& e) { return kKinds[static_cast<std::size_t>(e.kind)]; })
      .def_ro("seed", &EventCopy::seed)
      .def_ro("step", &EventCopy::step)
      .def_ro("steps", &EventCopy::steps)
      .def_ro("seconds", &EventCopy::seconds)
      .def_ro("loss", &EventCopy::loss)
      .def_ro("score", &EventCopy::score)
      .def_ro("validation_loss", &EventCopy::validation_loss)
      .def_ro("passed", &EventCopy::passed)
      .def_ro("text", &EventCopy::text)
      .def_prop_ro("search",
                   [](const EventCopy& e) -> nb::object {
                     if (!e.search) return nb::none();
                     nb::dict d;
                     d["done"] = e.search->done;
                     d["total"] = e.search->total;
                     d["wrong"] = e.search->wrong;
                     d["gates"] = e.search->gates;
                     return d;
                   })
      .def_prop_ro("extra", [](const EventCopy& e) {
        nb::dict d;
        for (const auto& [name, value] : e.extra) d[name.c_str()] = value;
        return d;
      });
  nb::class_<TrainingRun>(m, "TrainingRun")
      .def(nb::init<const std::string&, const nb::list&, const std::string&, bool, bool, std::uint64_t>())
      .def(nb::init<const std::string&, std::uint64_t, std::uint64_t, std::uint64_t>())
      .def("train", &TrainingRun::train, "threads"_a, "callback"_a.none(), "seconds"_a)
      .def("evaluations", &TrainingRun::evaluations)
      .def("best_model", &TrainingRun::best_model)
      .def_prop_ro("folder", &TrainingRun::folder)
      .def_prop_ro("task", &TrainingRun::task)
      .def_prop_ro("config", &TrainingRun::config);
  nb::class_<Model>(m, "Model")
      .def_prop_ro("kind", [](const Model& model) { return model.kind(); })
      .def_prop_ro("facts", [](const Model& model) { return to_python(model.facts()); })
      .def_prop_ro("hash", [](const Model& model) { return model.hash(); })
      .def("tensors",
           [](Model& model) {
             nb::dict d;
             const Parameters& p = model.parameters();
             for (std::size_t t = 0; t < p.tensors().size(); ++t)
               d[p.tensors()[t].name.c_str()] = to_array<float>(p.values(t), p.tensors()[t].shape);
             return d;
           })
      .def("save", [](const Model& model, const std::string& path, const std::map<std::string, std::string>& notes) {
        nb::gil_scoped_release release;
        check_named_output("save", path);
        save_model(path, model, notes);
      });
  m.def("load_model", [](const std::string& path) {
    LoadedModel loaded = unlocked([&] { return load_model(path); });
    return std::pair(std::shared_ptr<Model>(std::move(loaded.model)), loaded.notes);
  });
  m.def("provenance_of", [](const ModelNotes& notes) {
    const Provenance provenance = provenance_of(notes);
    return nb::make_tuple(word_for(provenance), to_python(provenance));
  });
  m.def("provenance_text", [](const nb::list& list) { return format_provenance(provenance_from(list)); });
  m.def("word_for", [](const nb::list& list) { return word_for(provenance_from(list)); });
  m.def("tasks", [] {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Task& task : all_tasks()) list.emplace_back(task.name, task.summary);
    return list;
  });
  m.def("read_metrics", [](const std::string& folder) {
    const Metrics metrics = unlocked([&] { return RunRecord::read_metrics(folder); });
    nb::dict d;
    for (std::size_t i = 0; i < metrics.names.size(); ++i)
      d[metrics.names[i].c_str()] = to_array<double>(metrics.columns[i], {metrics.rows()});
    return d;
  });
  m.def("task_fields", &fields_of_task);
}

}  // namespace espalier::python
