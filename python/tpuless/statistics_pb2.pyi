# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Statistics(_message.Message):
    __slots__ = ["abandoned_steps", "enqueues", "ids", "queued_batches", "receives", "sends", "steps", "tables", "unique_rows"]
    ABANDONED_STEPS_FIELD_NUMBER: _ClassVar[int]
    ENQUEUES_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_BATCHES_FIELD_NUMBER: _ClassVar[int]
    RECEIVES_FIELD_NUMBER: _ClassVar[int]
    SENDS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_ROWS_FIELD_NUMBER: _ClassVar[int]
    abandoned_steps: int
    enqueues: int
    ids: int
    queued_batches: int
    receives: int
    sends: int
    steps: int
    tables: _containers.RepeatedCompositeFieldContainer[TableStatistics]
    unique_rows: int
    def __init__(self, enqueues: _Optional[int] = ..., receives: _Optional[int] = ..., sends: _Optional[int] = ..., steps: _Optional[int] = ..., abandoned_steps: _Optional[int] = ..., ids: _Optional[int] = ..., unique_rows: _Optional[int] = ..., queued_batches: _Optional[int] = ..., tables: _Optional[_Iterable[_Union[TableStatistics, _Mapping]]] = ...) -> None: ...

class TableStatistics(_message.Message):
    __slots__ = ["bytes", "dimension", "loaded", "name", "vocabulary_size"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SIZE_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    dimension: int
    loaded: bool
    name: str
    vocabulary_size: int
    def __init__(self, name: _Optional[str] = ..., vocabulary_size: _Optional[int] = ..., dimension: _Optional[int] = ..., bytes: _Optional[int] = ..., loaded: bool = ...) -> None: ...
