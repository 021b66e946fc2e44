# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Finds Python, pybind11 and TensorFlow, the last two by asking Python.

# The python3 that a shell would start, not the newest one there is.
set(Python_FIND_STRATEGY LOCATION)
set(Python_FIND_UNVERSIONED_NAMES FIRST)
find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(NOT Python_Interpreter_FOUND)
  message(
    FATAL_ERROR
    "tpuless needs Python 3.10 or later, found none; "
    "-DPython_EXECUTABLE= chooses one"
  )
endif()
if(NOT Python_Development.Module_FOUND)
  message(
    FATAL_ERROR
    "tpuless needs Python's headers, found none for ${Python_EXECUTABLE}; "
    "'apt-get install python3-dev' gives them on Debian"
  )
endif()

execute_process(
  COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
  OUTPUT_VARIABLE pybind11_output
  ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE
)
if(NOT pybind11_output)
  message(
    FATAL_ERROR
    "tpuless needs pybind11, found none in ${Python_EXECUTABLE}; "
    "'pip install pybind11' gives it"
  )
endif()
set(pybind11_DIR "${pybind11_output}" CACHE PATH "Found by Python." FORCE)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.12 CONFIG REQUIRED)

execute_process(
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/find_tensorflow.py"
  OUTPUT_VARIABLE tensorflow_output
  OUTPUT_STRIP_TRAILING_WHITESPACE
)
string(REPLACE "\n" ";" tensorflow_output "${tensorflow_output}")
list(LENGTH tensorflow_output num_lines)
if(NOT num_lines EQUAL 2)
  message(
    FATAL_ERROR
    "tpuless needs TensorFlow 2.16 or later, found none in "
    "${Python_EXECUTABLE}; 'pip install tensorflow-cpu' gives it"
  )
endif()
list(GET tensorflow_output 0 TensorFlow_DIR)
list(GET tensorflow_output 1 TensorFlow_VERSION)
if(TensorFlow_VERSION VERSION_LESS 2.16)
  message(
    FATAL_ERROR
    "tpuless needs TensorFlow 2.16 or later, got ${TensorFlow_VERSION} in "
    "${Python_EXECUTABLE}"
  )
endif()
message(STATUS "Found TensorFlow: ${TensorFlow_DIR} (${TensorFlow_VERSION})")

foreach(part cc framework)
  add_library(TensorFlow::${part} SHARED IMPORTED)
  set_target_properties(
    TensorFlow::${part}
    PROPERTIES IMPORTED_LOCATION "${TensorFlow_DIR}/libtensorflow_${part}.so.2"
  )
endforeach()
# To link with, and nothing to include.
add_library(TensorFlow::Libraries INTERFACE IMPORTED)
target_link_libraries(
  TensorFlow::Libraries
  INTERFACE TensorFlow::cc TensorFlow::framework
)
add_library(TensorFlow::TensorFlow INTERFACE IMPORTED)
target_include_directories(
  TensorFlow::TensorFlow
  SYSTEM
  INTERFACE "${TensorFlow_DIR}/include"
)
target_link_libraries(TensorFlow::TensorFlow INTERFACE TensorFlow::Libraries)
