"""Published files are taken from the user's folder or fetched, and held to their content."""

import hashlib

import pooch
import pytest

from auxmc.errors import DataError
from auxmc_pipeline.published_files import PublishedFile, local_file, published_file

FILE = PublishedFile("a/b.npz", "https://example.invalid/b.npz", hashlib.sha256(b"content").hexdigest())


def test_a_file_in_the_users_folder_is_used_if_it_has_the_published_content(tmp_path, monkeypatch):
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    assert local_file(FILE) is None
    with pytest.raises(DataError, match=r"b.npz: cannot be read .*must name the folder that has a/b.npz.*or"):
        published_file(FILE, "or not")
    path = tmp_path / "a" / "b.npz"
    path.parent.mkdir()
    path.write_bytes(b"content")
    assert published_file(FILE, "or not") == path == local_file(FILE)
    path.write_bytes(b"other")
    with pytest.raises(DataError, match=f"has sha256 .*, the published file has {FILE.sha256}; replace it"):
        published_file(FILE, "or not")


def test_without_network_the_message_says_what_to_do(monkeypatch):
    def fail(*_, **__):
        raise ConnectionError("no route\nmore lines")

    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)
    monkeypatch.setattr(pooch, "retrieve", fail)
    assert local_file(FILE) is None
    with pytest.raises(DataError, match=r"could not be fetched \(no route\); connect .* set AUXMC_DATA_DIR"):
        published_file(FILE, "or not")


def test_fetching_asks_for_the_known_content(tmp_path, monkeypatch):
    asked = {}

    def fetch(address, **about):
        asked.update(about, address=address)
        return str(tmp_path / "b.npz")

    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)
    monkeypatch.setattr(pooch, "retrieve", fetch)
    assert published_file(FILE, "") == tmp_path / "b.npz"
    assert asked["known_hash"] == f"sha256:{FILE.sha256}"
    assert asked["address"] == FILE.address
