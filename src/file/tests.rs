use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::*;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().canonicalize().expect("a path");
    (directory, path)
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_reads_beneath_itself_and_nowhere_else() {
    let (_kept, path) = place();
    std::fs::create_dir_all(path.join("in/deep")).expect("directories");
    std::fs::write(path.join("secret"), "hunter2").expect("a file");
    std::fs::write(path.join("in/deep/a"), "a").expect("a file");
    symlink("deep/a", path.join("in/same")).expect("a link");
    symlink("../secret", path.join("in/out")).expect("a link");
    symlink("/proc/self/environ", path.join("in/environ")).expect("a link");
    symlink("..", path.join("in/up")).expect("a link");
    symlink("/proc/self/cwd", path.join("in/magic")).expect("a link");
    let directory = Directory::open(&path.join("in")).expect("a directory");
    assert_eq!(directory.read("same", 9).expect("inside"), b"a");
    for out in ["out", "environ", "up/secret", "../secret", "magic/Cargo.toml", "deep/../../secret"] {
        let error = directory.read(out, 1_000).expect_err(out);
        assert!(matches!(error, FileError::Outside { .. }), "{out}: {error:?}");
    }
}

#[test]
fn many_files_are_read_as_each_alone() {
    let (_kept, path) = place();
    std::fs::create_dir_all(path.join("in/deep/er")).expect("directories");
    std::fs::create_dir_all(path.join("in/last")).expect("directories");
    std::fs::write(path.join("secret"), "hunter2").expect("a file");
    for file in ["top", "deep/a", "deep/b", "deep/er/c", "last/d", "last/empty"] {
        let text = if file.ends_with("empty") { "" } else { file };
        std::fs::write(path.join("in").join(file), text).expect("a file");
    }
    symlink("../../secret", path.join("in/deep/out")).expect("a link");
    symlink("b", path.join("in/deep/same")).expect("a link");
    symlink("..", path.join("in/deep/above")).expect("a link");
    symlink("../..", path.join("in/deep/up")).expect("a link");
    symlink("deep", path.join("in/other")).expect("a link");
    symlink("nowhere", path.join("in/dangling")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(path.join("in/deep/fifo")).status().expect("mkfifo");
    assert!(made.success());
    let directory = Directory::open(&path.join("in")).expect("a directory");
    let names = [
        "top",
        "deep/a",
        "deep/b",
        "deep/out",
        "deep/same",
        "deep/fifo",
        "deep/er",
        "deep/none",
        "deep/er/c",
        "deep/a",
        "deep/../top",
        "deep/..",
        "..",
        "../secret",
        "last/d",
        "last/empty",
        "last/d",
        "other/a",
        "other/b",
        "dangling",
        "deep/above/top",
        "deep/above/last/d",
        "deep/up/secret",
        "deep/up/secret",
        "deep/up/in/top",
        "",
        ".",
        "top/a",
    ];
    for limit in [3, 100] {
        let mut many = ManyFiles::new(&directory);
        // Twice, so that each comes after one beside it as well.
        for name in names.iter().flat_map(|name| [name, name]) {
            let (alone, beside) = (directory.read(name, limit), many.read(Path::new(name), limit));
            assert_eq!(format!("{alone:?}"), format!("{beside:?}"), "{name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_length_the_system_does_not_know_is_read_whole() {
    let directory = Directory::open(Path::new("/proc/self")).expect("a directory");
    let status = directory.read("status", 1_000_000).expect("a text");
    assert!(status.starts_with(b"Name:") && status.len() > 100);
    assert!(matches!(directory.read("status", 10), Err(FileError::TooLarge { .. })));
}

#[test]
fn only_regular_files_of_a_bounded_size_are_read() {
    let (_kept, path) = place();
    let fifo = path.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    std::fs::write(path.join("four"), "1234").expect("a file");
    std::fs::create_dir(path.join("directory")).expect("a directory");
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).expect("a socket");
    let directory = Directory::open(&path).expect("a directory");
    for odd in ["fifo", "directory"] {
        assert!(matches!(directory.read(odd, 9), Err(FileError::NotRegular(_))), "{odd}");
    }
    directory.read("socket", 9).expect_err("a socket cannot be opened");
    assert_eq!(directory.read("four", 4).expect("it fits"), b"1234");
    let error = directory.read("four", 3).expect_err("too large");
    assert!(error.to_string().ends_with("is larger than the allowed 3 bytes"), "{error}");
    assert!(directory.read("none", 9).expect_err("absent").is_missing());
}

#[test]
fn a_pipe_that_nobody_writes_ends_after_a_while() {
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let error = stream::read_within(Duration::from_millis(20), reader, Path::new("pipe"), 9).expect_err("no end");
    assert!(matches!(error, FileError::TooSlow { .. }), "{error:?}");
    let endless = std::io::repeat(b'x');
    let error = stream::read(endless, Path::new("pipe"), 9).expect_err("too large");
    assert!(matches!(error, FileError::TooLarge { .. }), "{error:?}");
    let error = read(Path::new("/dev/zero"), 9).expect_err("too large");
    assert!(matches!(error, FileError::TooLarge { .. }), "{error:?}");
    assert_eq!(read(Path::new("/dev/null"), 9).expect("it is empty"), b"");
}

#[test]
fn a_named_path_leaves_neither_its_repository_nor_its_stack() {
    let (_kept, path) = place();
    for directory in ["repository/.git", "repository/stack", "outside/.git", "free"] {
        std::fs::create_dir_all(path.join(directory)).expect("directories");
    }
    std::fs::write(path.join("repository/stack/trueup.yaml"), "").expect("a file");
    for file in ["outside/secret", "repository/near", "free/real"] {
        std::fs::write(path.join(file), "text").expect("a file");
    }
    symlink("../../outside/secret", path.join("repository/stack/out")).expect("a link");
    symlink("../near", path.join("repository/stack/near")).expect("a link");
    // The directory that it leads to is a repository too.
    symlink("../outside", path.join("repository/through")).expect("a link");
    symlink("near", path.join("repository/inside")).expect("a link");
    symlink("real", path.join("free/link")).expect("a link");
    symlink("../outside/secret", path.join("free/far")).expect("a link");
    for out in ["repository/stack/out", "repository/stack/near", "repository/through/secret"] {
        let error = read(&path.join(out), 9).expect_err(out);
        assert!(matches!(error, FileError::Outside { .. }), "{out}: {error:?}");
        assert!(leads_out(&path.join(out)).expect("it resolves").is_some(), "{out}");
    }
    for fine in ["repository/inside", "repository/stack/../near", "free/link", "free/far", "outside/secret"] {
        assert_eq!(read(&path.join(fine), 9).expect(fine), b"text");
        assert!(leads_out(&path.join(fine)).expect("it resolves").is_none(), "{fine}");
    }
    assert_eq!(read_secret(&path.join("repository/stack/out"), 9).expect("a token may lie elsewhere"), b"text");
    let error = replace(&path.join("repository/through/new"), FileMode::Shared, |out| out.write_all(b"x"))
        .expect_err("it leads out");
    assert!(matches!(error, FileError::Outside { .. }), "{error:?}");
    assert_eq!(names(&path.join("outside")), [".git", "secret"]);
}

#[test]
fn a_write_replaces_a_file_and_follows_no_link() {
    let (_kept, path) = place();
    std::fs::write(path.join("victim"), "before").expect("a file");
    symlink("victim", path.join("link")).expect("a link");
    symlink("nowhere", path.join("dangling")).expect("a link");
    for link in ["link", "dangling", "/dev/stdout"] {
        let error = replace(&path.join(link), FileMode::Private, |out| out.write_all(b"x")).expect_err(link);
        assert!(matches!(error, FileError::Link(_)), "{link}: {error:?}");
    }
    let error = replace(Path::new("/dev/null"), FileMode::Private, |out| out.write_all(b"x")).expect_err("a device");
    assert!(matches!(error, FileError::NotRegular(_)), "{error:?}");
    replace(&path.join("new/deep/file"), FileMode::Private, |out| out.write_all(b"1")).expect("directories are made");
    assert_eq!(mode(&path.join("new/deep/file")), 0o600);
    std::fs::set_permissions(path.join("victim"), std::fs::Permissions::from_mode(0o640)).expect("a mode");
    replace(&path.join("victim"), FileMode::Shared, |out| out.write_all(b"after")).expect("it is a file");
    assert_eq!(mode(&path.join("victim")), 0o640);
    replace(&path.join("victim"), FileMode::Private, |out| out.write_all(b"private")).expect("it is a file");
    assert_eq!(mode(&path.join("victim")), 0o600);
    assert_eq!(std::fs::read(path.join("victim")).expect("text"), b"private");
    assert_eq!(names(&path), ["dangling", "link", "new", "victim"]);
}

#[test]
fn our_directories_are_for_us_alone() {
    let (_kept, path) = place();
    let state = path.join("deep/state");
    assert!(Directory::find_private(&state, "runs").expect("nothing is wrong").is_none());
    Directory::private(&state, "runs").expect("it is made");
    assert_eq!((mode(&state), mode(&state.join("runs"))), (0o700, 0o700));
    let set = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    // A volume that is opened to a group by the system.
    set(&state.join("runs"), 0o2770);
    Directory::private(&state, "runs").expect("it is closed to the group");
    assert_eq!(mode(&state.join("runs")), 0o700);
    set(&state.join("runs"), 0o777);
    let error = Directory::find_private(&state, "runs").expect_err("everyone writes");
    assert!(error.to_string().contains("can be written by everyone"), "{error}");
    set(&state.join("runs"), 0o700);
    set(&state, 0o777);
    assert!(matches!(Directory::private(&state, "runs"), Err(FileError::Exposed { .. })));
    set(&state, 0o1777);
    Directory::private(&state, "runs").expect("nobody else can rename it");
    symlink("runs", state.join("locks")).expect("a link");
    assert!(matches!(Directory::private(&state, "locks"), Err(FileError::Link(_))));
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_where_root_writes_it() {
    let (_kept, path) = place();
    let file = path.join("file");
    std::fs::write(&file, "before").expect("a file");
    // Whoever is not root owns what it writes, and can give nothing away.
    let is_root = std::os::unix::fs::chown(&file, Some(4711), Some(4712)).is_ok();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    let owner = || file.metadata().map(|now| (now.uid(), now.gid())).expect("it is there");
    let before = owner();
    replace(&file, FileMode::Shared, |out| out.write_all(b"after")).expect("it is a file");
    assert_eq!((owner(), mode(&file)), (before, 0o600), "as root: {is_root}");
}

#[test]
fn an_edit_of_a_file_that_somebody_edited_meanwhile_leaves_it() {
    let (_kept, path) = place();
    let directory = Directory::open(&path).expect("a directory");
    let edit = |before: &str| FileEdit { before: before.into(), now: b"now".to_vec() };
    let put = |edit: FileEdit| directory.edit("file", &edit, FileMode::Reproducible);
    let is_edited = |result| matches!(result, Err(FileError::Edited(_)));
    // None is as good as an empty one.
    assert!(is_edited(put(edit("before"))));
    put(edit("")).expect("there is none");
    std::fs::write(path.join("file"), "others").expect("a file");
    for other in ["", "other", "others and more", "OTHERS"] {
        assert!(is_edited(directory.check_edit("file", &edit(other))), "{other}");
        assert!(is_edited(put(edit(other))), "{other}");
    }
    assert_eq!(std::fs::read(path.join("file")).expect("a file"), b"others");
    put(edit("others")).expect("nobody edited it");
    put(edit("before")).expect("it is made already");
    assert_eq!(directory.names().expect("names"), ["file"]);
}
