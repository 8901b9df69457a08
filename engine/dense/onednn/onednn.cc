// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/onednn/onednn.h"

#include <new>

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include "engine/dense/product.h"

namespace bert::engine {
namespace {

// The OpenMP runtime that oneDNN loaded, if any. Linking one ourselves might bring in another
// (Clang's beside GCC's), whose settings oneDNN would not see.
struct OpenMp {
  int (*get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
};
const OpenMp& open_mp() {
  static const OpenMp found;
  return found;
}

}  // namespace

dnnl::engine& onednn_cpu() {
  static auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);  // used by threads at exit
  return engine;
}

std::shared_mutex& generated_mutex() {
  static std::shared_mutex& mutex = *[] {
    pthread_atfork([] { generated_mutex().lock(); }, [] { generated_mutex().unlock(); },
                   // The thread's id is new in the child, and glibc unlocks only for the old one.
                   [] { new (&generated_mutex()) std::shared_mutex; });
    return new std::shared_mutex;
  }();
  return mutex;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

bool can_use([[maybe_unused]] OneDnnLevel level) {
#if defined(__x86_64__)
  using dnnl::cpu_isa;
  constexpr cpu_isa kLevels[] = {cpu_isa::avx2, cpu_isa::avx512_core, cpu_isa::avx512_core_vnni};
  // A level's bits include those of every level that it extends.
  const auto bits = static_cast<unsigned>(kLevels[static_cast<int>(level)]);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
#else
  return false;
#endif
}

OneDnnTypes onednn_types(Precision precision) {
  using Type = dnnl::memory::data_type;
  switch (precision) {
    case Precision::f32:
      return {Type::f32, Type::f32, Type::f32, 1};
    case Precision::bf16:
      return {Type::bf16, Type::bf16, Type::f32, 2};
    case Precision::int8:
      break;
  }
  return {Type::u8, Type::s8, Type::s32, 4};
}

OneThread::OneThread() : before_(open_mp().get ? open_mp().get() : 1) {
  if (before_ != 1) open_mp().set(1);
}
OneThread::~OneThread() {
  if (before_ != 1) open_mp().set(before_);
}

}  // namespace bert::engine
