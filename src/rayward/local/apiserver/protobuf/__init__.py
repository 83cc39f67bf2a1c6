"""Kubernetes protobuf bodies of the built-in kinds, read into what the same objects are in JSON, and written from it.

A recorded table says which field number is which JSON field, and the recorded wire rules which empty values JSON leaves
out. Walking such a table is several times faster than message classes, whose fields Python would have to walk all the
same, and lets a malformed body be refused in Kubernetes' own words.
"""

from rayward.local.apiserver.protobuf.body import ProtobufError, decode, encode, encode_event

__all__ = ["ProtobufError", "decode", "encode", "encode_event"]
