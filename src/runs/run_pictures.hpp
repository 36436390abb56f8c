// Pictures of a finished run, beside its files: loss.svg from metrics.csv; for lattice models also gates.svg (how
// often each gate occurs in the best model) and growth.gif (the board from its start to twice the trained number of
// steps).
#pragma once

#include "espalier/model.hpp"
#include "espalier/thread_pool.hpp"
#include "runs/run_folder.hpp"

namespace espalier {

void write_run_pictures(const RunFolder& folder, const LoadedModel& best, const ThreadPool& pool, bool only_missing);

}  // namespace espalier
