// Several seeds over ranks: rank 0 keeps the folder, hears how the seeds of the others do, and tells them which ones
// cannot win any more. The others ask, rank 0 answers, and nobody says anything unasked: so a rank from which nothing
// is heard for long is one that hangs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rank_bytes.hpp"
#include "espalier/run.hpp"
#include "runs/run_folder.hpp"

namespace espalier {

// What rank 0 answers to anything.
struct SeedStatus {
  std::uint64_t lowest_solved;
  std::uint8_t stop, all_ended;
};

// On rank 0: what is asked of the run. Called from one thread, that of SeedServer::serve().
struct SeedHost {
  std::function<bool(std::size_t index)> begun;                       // by an earlier session
  std::function<std::unique_ptr<RunFolder>(std::size_t index)> open;  // null when all is in memory
  std::function<void(const RunEvent&)> emit;
  std::function<void(std::size_t index, SeedReport report, std::unique_ptr<Model> model)> end;
  std::function<SeedStatus()> status;
  std::function<void(std::uint64_t seed)> note_solved;
  std::function<void()> stop;  // another rank was asked to
};

class SeedServer {
 public:
  SeedServer(Ranks& ranks, SeedHost host) : ranks_(ranks), host_(std::move(host)) {}
  // Until the others have nothing left to do, know that nobody has, and `own_work_done`.
  void serve(const std::function<bool()>& own_work_done);

 private:
  Bytes answer(int from, Unpacker& request);

  Ranks& ranks_;
  SeedHost host_;
  std::map<std::size_t, std::unique_ptr<RunFolder>> folders_;
  std::vector<bool> idle_, gone_;  // by rank
};

// On the other ranks; used by several threads, each with seeds of its own.
class SeedClient {
 public:
  explicit SeedClient(Ranks& ranks) : ranks_(ranks) {}
  bool begun(std::size_t index);
  // A folder that lies with rank 0; null when all is in memory.
  std::unique_ptr<RunFolder> open(std::size_t index, const std::string& path, const std::string& config);
  SeedStatus tell(std::size_t index, const RunEvent& event);
  SeedStatus end(std::size_t index, const SeedReport& report, const Model* model);
  SeedStatus idle(bool stopped);  // this rank has nothing left to do

 private:
  Ranks& ranks_;
};

}  // namespace espalier
