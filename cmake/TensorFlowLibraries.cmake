# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# What touches TensorFlow: tpuless_config, libtpuless_ops.so, _engine, and
# libtpuless_plugin.so, which does so by name.

# TensorFlow's flags for our code; needs no include path of ours.
add_library(tpuless_tensorflow INTERFACE)
target_compile_definitions(
  tpuless_tensorflow
  INTERFACE NDEBUG _GLIBCXX_USE_CXX11_ABI=1 EIGEN_MAX_ALIGN_BYTES=64
)
target_compile_options(
  tpuless_tensorflow
  INTERFACE "-fmacro-prefix-map=${TensorFlow_DIR}/include/="
)
target_link_libraries(tpuless_tensorflow INTERFACE TensorFlow::TensorFlow)

file(GLOB config_sources CONFIGURE_DEPENDS cc/config/*.cc)
add_library(tpuless_config OBJECT ${config_sources})
target_link_libraries(
  tpuless_config
  PUBLIC tpuless_engine
  PRIVATE tpuless_compile_options tpuless_tensorflow
)

# The kernel library. Its name has no version and its run path nothing
# absolute: TensorFlow is in the process already, or a sibling package.
file(GLOB ops_sources CONFIGURE_DEPENDS cc/kernels/*.cc cc/virtual_tpu/*.cc)
add_library(tpuless_ops MODULE ${ops_sources})
target_link_libraries(
  tpuless_ops
  PRIVATE
    tpuless_config
    tpuless_engine
    tpuless_compile_options
    tpuless_tensorflow
)
# op_kernel.h costs seconds a file, so from four files on it is precompiled.
list(LENGTH ops_sources num_ops_sources)
if(num_ops_sources GREATER_EQUAL 4)
  target_precompile_headers(
    tpuless_ops
    PRIVATE <tensorflow/core/framework/op_kernel.h>
  )
endif()

file(GLOB pybind_sources CONFIGURE_DEPENDS cc/pybind/*.cc)
pybind11_add_module(tpuless_pybind MODULE NO_EXTRAS ${pybind_sources})
target_link_libraries(
  tpuless_pybind
  PRIVATE
    tpuless_config
    tpuless_engine
    tpuless_compile_options
    TensorFlow::Libraries
)
set_target_properties(tpuless_pybind PROPERTIES OUTPUT_NAME _engine)

set_target_properties(
  tpuless_ops
  tpuless_pybind
  PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/../tensorflow"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tpuless"
)
# Undefined symbols fail here, not at import.
foreach(library tpuless_ops tpuless_pybind)
  target_link_options(${library} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
endforeach()
target_link_options(tpuless_ops PRIVATE -Wl,--no-undefined)

# TensorFlow loads it out of the folder of this name, see the file.
file(GLOB plugin_sources CONFIGURE_DEPENDS cc/plugin/*.cc)
python_add_library(tpuless_plugin MODULE ${plugin_sources})
target_link_libraries(tpuless_plugin PRIVATE tpuless_compile_options)
set_target_properties(
  tpuless_plugin
  PROPERTIES
    OUTPUT_NAME libtpuless_plugin
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tensorflow-plugins"
)

# Each of these compilers takes up to a gigabyte, however many cores there are.
cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR num_compilers "1 + ${megabytes} / 1024")
set_property(GLOBAL APPEND PROPERTY JOB_POOLS tensorflow=${num_compilers})
set_target_properties(
  tpuless_config
  tpuless_ops
  PROPERTIES JOB_POOL_COMPILE tensorflow
)

configure_file(
  cmake/_build_info.py.in
  "${PROJECT_BINARY_DIR}/tpuless/_build_info.py"
  @ONLY
)

# The package folder is the install prefix.
add_custom_target(
  tpuless_python
  DEPENDS tpuless_ops tpuless_pybind tpuless_plugin
)
install(TARGETS tpuless_ops tpuless_pybind LIBRARY DESTINATION .)
install(TARGETS tpuless_plugin LIBRARY DESTINATION ../tensorflow-plugins)
install(FILES "${PROJECT_BINARY_DIR}/tpuless/_build_info.py" DESTINATION .)
