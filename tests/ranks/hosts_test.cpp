// Ranks on two hosts as far as one machine can show it: each in its own network, with its own name, joined by a cable
// alone; and the second cannot see the folder that the run is written to.
#include <chrono>
#include <fstream>

#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

bool works(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Two network namespaces and a pair of virtual cards. A script stands for ssh: it enters the namespace of a host.
class TwoHosts {
 public:
  TwoHosts() {
    const std::string ip = "ip netns add ";
    made_ = works(ip + host(1)) && works(ip + host(2)) &&
            works("ip link add " + card(1) + " netns " + host(1) + " type veth peer name " + card(2) + " netns " +
                  host(2)) &&
            up(1) && up(2) && works("unshare --uts --mount true");
    std::filesystem::create_directory(folder_ / "out");
    std::ofstream(folder_ / "enter") << "#!/bin/sh\n# enter ADDRESS COMMAND...: as ssh does\nshift\n"
                                     << "exec ip netns exec " << host(2) << " unshare --uts --mount sh -c "
                                     << "'mount -t tmpfs -o ro none " << (folder_ / "out")
                                     << "; hostname second; eval \"$@\"' enter \"$@\"\n";
    std::filesystem::permissions(folder_ / "enter", std::filesystem::perms::owner_all);
  }
  ~TwoHosts() {
    for (const int n : {1, 2}) works("ip netns delete " + host(n));
  }

  bool made() const { return made_; }
  std::string out(const std::string& name) const { return folder_ / ("out/" + name); }  // what the first alone has
  void pull_the_cable() const { works("ip -n " + host(2) + " link set " + card(2) + " down"); }
  // Two ranks on the first host, the others on the second.
  Surroundings ranks(int count) const {
    Surroundings around = espalier::ranks(count);
    around.launcher = {
        "ip", "netns", "exec", host(1), "unshare", "--uts", "sh", "-c", "hostname first; exec \"$0\" \"$@\""};
    for (const char* word : {ESPALIER_MPIEXEC,
                             "--bind-to",
                             "none",
                             "--host",
                             "10.77.0.1:2,10.77.0.2:2",
                             "--mca",
                             "plm",
                             "rsh",
                             "--mca",
                             "btl",
                             "tcp,self",
                             "--mca",
                             "oob_tcp_if_include",
                             "10.77.0.0/24",
                             "--mca",
                             "btl_tcp_if_include",
                             "10.77.0.0/24",
                             "--mca",
                             "oob_tcp_keepalive_time",
                             "3",
                             "--mca",
                             "oob_tcp_keepalive_intvl",
                             "1",
                             "--mca",
                             "oob_tcp_keepalive_probes",
                             "3",
                             "--mca",
                             "plm_rsh_agent"})
      around.launcher.emplace_back(word);
    around.launcher.push_back(folder_ / "enter");
    around.launcher.emplace_back("-n");
    around.launcher.push_back(std::to_string(count));
    return around;
  }

 private:
  static std::string host(int n) { return "espalier-" + std::to_string(::getpid()) + "-" + std::to_string(n); }
  static std::string card(int n) { return "card" + std::to_string(n); }
  static bool up(int n) {
    const std::string ip = "ip -n " + host(n);
    return works(ip + " address add 10.77.0." + std::to_string(n) + "/24 dev " + card(n)) &&
           works(ip + " link set lo up") && works(ip + " link set " + card(n) + " up");
  }
  TempFolder folder_;
  bool made_ = false;
};

class RanksHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!hosts_.made()) GTEST_SKIP() << "no right to make networks (root and iproute2 are needed)";
  }
  TwoHosts hosts_;
};

const Arguments kTask{"train", "checkerboard-small", "--eval-every", "2", "--refine", "0", "--quiet", "--json"};

TEST_F(RanksHosts, TheHashIsThatOfOneProcessAndOnlyTheFirstNeedsTheFolder) {
  const TempFolder folder;
  for (const char* seeds : {"1", "3"}) {
    const Arguments task = kTask + Arguments{"--seeds", seeds, "--train-steps", "4"};
    const std::string alone = folder / ("alone" + std::string(seeds)), out = hosts_.out(seeds);
    const std::string hash = hash_of(run(task + Arguments{"--out", alone}));
    EXPECT_EQ(hash_of(run(task + Arguments{"--out", out}, hosts_.ranks(3))), hash) << seeds << " seeds";
    EXPECT_EQ(text_of(out + "/model.safetensors"), text_of(alone + "/model.safetensors"));
    const Arguments more{"--train-steps", "6", "--quiet", "--json"};
    EXPECT_EQ(hash_of(run(Arguments{"train", "--resume", out} + more, hosts_.ranks(4))),
              hash_of(run(Arguments{"train", "--resume", alone} + more)));
  }
}

TEST_F(RanksHosts, ABoardInBandsIsThatOfOneProcess) {
  const TempFolder folder;
  hash_of(run(kTask + Arguments{"--seeds", "1", "--train-steps", "1", "--out", folder / "model"}));
  const Arguments bands{"run", folder / "model", "--size", "61x70",  "--steps",
                        "20",  "--async",        "0.7",    "--json", "--quiet"};
  EXPECT_EQ(run(bands, hosts_.ranks(4)).json().at("board_hash"), run(bands).json().at("board_hash"));
}

TEST_F(RanksHosts, AFailureNamesTheHost) {
  const TempFolder folder;
  // The model lies where the second host sees nothing.
  hash_of(run(kTask + Arguments{"--seeds", "1", "--train-steps", "1", "--out", hosts_.out("model")}));
  const Ended e = run({"eval", hosts_.out("model")}, hosts_.ranks(3));
  EXPECT_EQ(e.exit_code, 1) << e.err;
  EXPECT_NE(e.err.find("espalier: rank 2 on second: "), std::string::npos) << e.err;
  EXPECT_EQ(count_of(e.err, "espalier: "), 1u) << e.err;
}

// Whoever notices first names the host: mpirun its address, we its name.
TEST_F(RanksHosts, ACableThatIsPulledEndsTheJobAndTheRunGoesOnAlone) {
  const TempFolder folder;
  const std::string out = hosts_.out("run");
  const Arguments task =
      kTask + Arguments{"--seeds",       "1",    "--checkpoint-every", "2",   "--rank-timeout",   "1",
                        "--train-steps", "2000", "--eval-every",       "100", "--no-until-solved"};
  {
    Running job(task + Arguments{"--out", out}, hosts_.ranks(4));
    job.wait_for(out + "/checkpoint.safetensors");
    hosts_.pull_the_cable();
    const auto pulled = std::chrono::steady_clock::now();
    const Ended e = job.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - pulled, std::chrono::seconds(60));
    EXPECT_NE(e.exit_code, 0);
    EXPECT_TRUE(e.err.find("on second has not answered") != std::string::npos ||
                e.err.find("on node 10.77.0.2") != std::string::npos)
        << e.err;
  }
  const std::string whole = hash_of(run(task + Arguments{"--out", folder / "whole"}));
  EXPECT_EQ(hash_of(run({"train", "--resume", out, "--quiet", "--json"})), whole);
}

}  // namespace
}  // namespace espalier
