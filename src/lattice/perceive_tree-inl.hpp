// What the ways through a perception tree share.
// Included once per Highway target; no include guard other than Highway's own.
#if defined(ESPALIER_LATTICE_PERCEIVE_TREE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_LATTICE_PERCEIVE_TREE_INL
#undef ESPALIER_LATTICE_PERCEIVE_TREE_INL
#else
#define ESPALIER_LATTICE_PERCEIVE_TREE_INL
#endif

#include "espalier/lattice/geometry.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

inline constexpr int kCells = kBlockCells;

constexpr int gates_of(int depth) { return (1 << depth) - 1; }
constexpr int leaves_of(int depth) { return 1 << (depth - 1); }

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();
#endif
