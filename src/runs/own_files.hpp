// What this program has written in a folder, and how a run is replaced by another without a moment in which neither is
// whole.
//
// Replacing: the files of the old run move into the folder `replaced-run` inside its own, config.json last; the new run
// is made beside it; and when that has its first whole checkpoint, the old one is removed, config.json last again. To
// put it back, the new one's files are removed, then the old ones move back, config.json first. So config.json tells
// how far a process had come that was killed:
//   here and not in replaced-run   the old run, some of whose files are still (or already) there: they move back
//   in replaced-run and not here   the old run was about to be replaced, or to be put back: it is put back
//   in both                        the new run, and the old one as long as the new one has no checkpoint
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/folder.hpp"

namespace espalier {

inline constexpr const char *kConfig = "config.json", *kLock = "lock", *kSeeds = "seeds.csv";
inline constexpr const char *kModelFile = "model.safetensors", *kCheckpoint = "checkpoint.safetensors";
inline constexpr const char* kPrevious = "checkpoint-previous.safetensors";
inline constexpr const char* kNext = "checkpoint-next.safetensors";  // while it is being written
inline constexpr const char* kReplaced = "replaced-run";
// In config.json, by which a run of ours is known.
inline constexpr std::pair<const char*, const char*> kRunMark{"espalier", "run 1"};

// Whether the text is a config.json of ours: by its mark.
bool is_run_config(std::string_view text);
// Whether a run of ours is there, or one that a killed process was replacing.
bool holds_run(const Folder& folder);

// Whether a run has a file of that name in its folder, or would have.
bool is_own_name(const std::string& name);
// Everything in the folder of a run that this program has not written, each with its path inside it.
std::vector<std::string> foreign_files(const Folder& folder);
// An Error when one of the files is in the folder: a run whose own files took the place of what it reads could never be
// resumed.
void refuse_folder_of_inputs(const std::string& folder, const std::vector<std::string>& files);
// Seeds that are runs of their own, by name.
std::vector<std::string> seeds_in(const Folder& folder);

void move_run_aside(const Folder& folder);
void put_run_back(const Folder& folder);
void remove_replaced_run(const Folder& folder);

// What a killed process left of these. An unfinished replacement, with no checkpoint of the new run, stays as it is
// unless `undo`. Returns what was done, for the user; empty where there was nothing to do.
std::string finish_replacing(const Folder& folder, bool undo);

}  // namespace espalier
