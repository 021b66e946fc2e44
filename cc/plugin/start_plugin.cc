// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Gives virtual TPU cores to scripts that know nothing of tpuless.
//
// `import tensorflow` loads every library in site-packages/tensorflow-plugins/
// and calls its TF_InitKernel. Where the environment asks for cores, this one
// has Python import tpuless; else it does nothing.

// What every Python 3 from 3.10 on has.
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <cstdlib>
#include <cstring>

namespace {

// Fails with the exception of the import.
int ImportTpuless(void*) {
  PyObject* const module = PyImport_ImportModule("tpuless");
  Py_XDECREF(module);
  return module == nullptr ? -1 : 0;
}

}  // namespace

// TensorFlow takes no error from here, and holds locks. So Python imports as
// soon as the call has returned, still within `import tensorflow`, which then
// fails if the import does.
extern "C" __attribute__((visibility("default"))) void TF_InitKernel() {
  // As in cc/virtual_tpu/virtual_devices.h, which needs TensorFlow.
  const char* const cores = std::getenv("TPULESS_CORES");
  if (cores == nullptr || std::strcmp(cores, "") == 0 ||
      std::strcmp(cores, "0") == 0) {
    return;
  }
  Py_AddPendingCall(&ImportTpuless, nullptr);
}
