"""Hashes of models: of single tensors, of all data, of keys, headers and files, and manifests.

They answer different questions. The hash of a tensor, and that of all tensors' data, stay what
they are when metadata are edited or padding changes. That of the header covers everything in
front of the data, and needs nothing else of the file. That of a file covers every byte.
"""

from .algorithms import ALGORITHMS, Algorithm, find_algorithm
from .check import Difference, differences
from .compute import Scope, hash_header, hash_model
from .hashes import FileHashes, Hashes, KeyHashes, TensorHashes
from .listing import read_listing
from .manifest import ManifestError, read_manifest, record

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Difference",
    "FileHashes",
    "Hashes",
    "KeyHashes",
    "ManifestError",
    "Scope",
    "TensorHashes",
    "differences",
    "find_algorithm",
    "hash_header",
    "hash_model",
    "read_listing",
    "read_manifest",
    "record",
]
