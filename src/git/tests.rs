use std::process::Command;

use super::*;

fn machine() -> GitEnvironment {
    GitEnvironment { search_path: std::env::var_os("PATH"), temporary: std::env::temp_dir() }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false"];
    let local = ["-c", "protocol.file.allow=always", "-c", "uploadpack.allowFilter=true"];
    let done =
        Command::new("git").arg("-C").arg(directory).args(identity).args(local).args(arguments).output().expect("git");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

fn commit(directory: &Path, message: &str) -> String {
    git(directory, &["add", "-A"]);
    git(directory, &["commit", "-q", "--allow-empty", "-m", message]);
    git(directory, &["rev-parse", "HEAD"])
}

fn repository() -> (tempfile::TempDir, Repository) {
    let directory = tempfile::tempdir().expect("a directory");
    let stack = directory.path().join("stack");
    std::fs::create_dir(&stack).expect("a directory");
    git(directory.path(), &["init", "-q", "-b", "main"]);
    std::fs::write(stack.join("a.yaml"), "metadata:\n  name: a\n").expect("a file");
    std::fs::write(stack.join("b \"ü\".yaml"), "metadata:\n  name: b\n").expect("a file");
    std::os::unix::fs::symlink("a.yaml", stack.join("c.yaml")).expect("a link");
    std::fs::write(directory.path().join("outside.yaml"), "x").expect("a file");
    commit(directory.path(), "one");
    let repository = Repository::open(&stack, &machine()).expect("a repository");
    (directory, repository)
}

fn paths(entries: &[TreeEntry]) -> Vec<(&str, EntryKind)> {
    entries.iter().map(|entry| (entry.path.as_str(), entry.kind)).collect()
}

#[test]
fn the_entries_of_a_commit_are_read_with_what_they_are() {
    let (_directory, repository) = repository();
    assert_eq!(repository.prefix(), "stack/");
    let entries = repository.entries("HEAD", repository.prefix()).expect("entries");
    let stack =
        [("stack/a.yaml", EntryKind::File), ("stack/b \"ü\".yaml", EntryKind::File), ("stack/c.yaml", EntryKind::Link)];
    assert_eq!(paths(&entries), stack);
    let contents = repository.contents(&entries.iter().collect::<Vec<_>>()).expect("contents");
    assert_eq!(contents[0], b"metadata:\n  name: a\n");
    assert_eq!(contents[2], b"a.yaml");
    assert_eq!(repository.entries("HEAD", "").expect("entries").len(), 4);
    assert_eq!(*repository.entries("HEAD", "stack/c.yaml/").expect("entries"), []);
    assert_eq!(*repository.entries("HEAD", "nowhere/").expect("entries"), []);
}

#[test]
fn what_cannot_be_answered_is_an_error_that_says_what_to_do() {
    let (directory, repository) = repository();
    let describe = |error: GitError| error.to_string();
    assert_eq!(
        repository.merge_base("nowhere").map_err(describe),
        Err("`nowhere` is not a commit in this clone: fetch it, or name another base".to_owned())
    );
    assert!(repository.resolve("--help").is_err());
    assert!(repository.resolve("main\nmain").is_err());
    let clone = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("c"), "c").expect("a file");
    commit(directory.path(), "two");
    let url = format!("file://{}", directory.path().display());
    git(clone.path(), &["clone", "-q", "--depth", "1", &url, "."]);
    let shallow = Repository::open(&clone.path().join("stack"), &machine()).expect("a repository");
    assert!(matches!(shallow.merge_base("HEAD"), Err(GitError::Shallow)));
    let nowhere = tempfile::tempdir().expect("a directory");
    assert!(matches!(Repository::open(nowhere.path(), &machine()), Err(GitError::NoRepository(_))));
}

#[test]
fn a_commit_is_known_by_its_id_alone() {
    let (directory, repository) = repository();
    let first = repository.head().expect("a commit");
    assert_eq!(repository.commit(&first).ok(), Some(first.clone()));
    assert_eq!(repository.commit(&first[..7]).ok(), Some(first.clone()));
    for id in ["main", "HEAD", ":/one", "abc", &first[..6], "0000000000", &format!("{first}^")] {
        assert!(matches!(repository.commit(id), Err(GitError::NoRevision(_))), "{id}");
    }
    // A branch with the name of an id is not taken for it.
    let second = commit(directory.path(), "two");
    git(directory.path(), &["branch", &second[..8], &first]);
    assert!(matches!(repository.commit(&second[..8]), Err(GitError::NoRevision(_))));
}

#[test]
fn a_name_of_several_references_is_not_taken_for_one_of_them() {
    let (directory, repository) = repository();
    let first = repository.head().expect("a commit");
    let second = commit(directory.path(), "two");
    for name in ["main", "HEAD", &second] {
        git(directory.path(), &["tag", name, &first]);
    }
    let repository = || Repository::open(directory.path(), &machine()).expect("a repository");
    for revision in ["main", "main~0"] {
        let error = repository().resolve(revision).expect_err("two references");
        let said = format!("`{revision}` names several references here: ");
        assert!(error.to_string().starts_with(&said), "{error}");
    }
    assert_eq!(repository().head().ok(), Some(second.clone()));
    assert_eq!(repository().merge_base("refs/heads/main").map_err(|error| error.to_string()), Ok(second.clone()));
    assert_eq!(repository().resolve(&second).ok(), Some(second));
    assert_eq!(repository().resolve("refs/tags/main").ok(), Some(first));
}

#[test]
fn commits_are_put_in_their_order() {
    let (directory, repository) = repository();
    let first = repository.head().expect("a commit");
    let second = commit(directory.path(), "two");
    git(directory.path(), &["checkout", "-q", "-b", "side", &first]);
    let side = commit(directory.path(), "side");
    assert!(repository.is_ancestor(&first, &second).expect("an answer"));
    assert!(repository.is_ancestor(&first, &first).expect("an answer"));
    assert!(!repository.is_ancestor(&second, &first).expect("an answer"));
    assert!(!repository.is_ancestor(&second, &side).expect("an answer"));
    let newest = |commits: &[&String]| {
        repository.newest(&commits.iter().map(|commit| (*commit).clone()).collect::<Vec<_>>()).expect("an answer")
    };
    assert_eq!(newest(&[&first, &second, &first]), std::slice::from_ref(&second));
    assert_eq!(newest(&[&first, &second, &side]), [second.clone(), side.clone()]);
    assert_eq!(newest(&[&first]), std::slice::from_ref(&first));
    assert_eq!(newest(&[]), Vec::<String>::new());
}

#[test]
fn objects_that_a_partial_clone_lacks_are_an_error_and_are_not_fetched() {
    let (directory, _) = repository();
    commit(directory.path(), "two");
    let url = format!("file://{}", directory.path().display());
    for (filter, below) in [("blob:none", "stack/"), ("tree:0", "stack/"), ("tree:0", ""), ("tree:1", "stack/")] {
        let clone = tempfile::tempdir().expect("a directory");
        git(directory.path(), &["config", "uploadpack.allowFilter", "true"]);
        git(clone.path(), &["clone", "-q", "--no-checkout", &format!("--filter={filter}"), &url, "."]);
        let repository = Repository::open(clone.path(), &machine()).expect("a repository");
        let head = repository.head().expect("a commit");
        let missing = repository
            .entries(&head, below)
            .and_then(|entries| repository.contents(&entries.iter().collect::<Vec<_>>()))
            .expect_err("an object is missing");
        let path = if below.is_empty() { &head } else { below };
        let said = format!("the clone lacks an object of `{path}");
        assert!(missing.to_string().starts_with(&said), "{filter} `{below}`: {missing}");
    }
}

#[test]
fn a_linked_working_tree_has_its_own_head_and_upstream() {
    let (directory, repository) = repository();
    let other = tempfile::tempdir().expect("a directory");
    let place = other.path().join("tree");
    git(directory.path(), &["worktree", "add", "-q", "-b", "side", place.to_str().expect("a path")]);
    let side = commit(&place, "side");
    git(&place, &["branch", "-q", "--set-upstream-to=main"]);
    let linked = Repository::open(&place.join("stack"), &machine()).expect("a repository");
    assert_eq!(linked.prefix(), "stack/");
    assert_eq!(linked.head().ok(), Some(side));
    assert_eq!(linked.resolve("@{upstream}").ok(), repository.head().ok());
    assert_eq!(linked.resolve("HEAD@{1}").ok(), repository.head().ok());
    assert_eq!(linked.merge_base("main").ok(), repository.head().ok());
}

#[test]
fn a_repository_of_another_hash_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    git(directory.path(), &["init", "-q", "-b", "main", "--object-format=sha256"]);
    std::fs::write(directory.path().join("a.yaml"), "x").expect("a file");
    let id = commit(directory.path(), "one");
    assert_eq!(id.len(), 64);
    let repository = Repository::open(directory.path(), &machine()).expect("a repository");
    assert_eq!(repository.head().ok(), Some(id.clone()));
    assert_eq!(repository.commit(&id).ok(), Some(id));
    assert_eq!(paths(&repository.entries("HEAD", "").expect("entries")), [("a.yaml", EntryKind::File)]);
}

#[test]
fn nothing_is_left_in_the_temporary_directory() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (directory, _) = repository();
    let machine = GitEnvironment { temporary: temporary.path().to_owned(), ..machine() };
    let there = || std::fs::read_dir(temporary.path()).expect("a directory").count();
    let repository = Repository::open(directory.path(), &machine).expect("a repository");
    assert_eq!(there(), 1);
    drop(repository);
    assert_eq!(there(), 0);
    assert!(directory.path().join(".git/objects").is_dir());
    let nowhere = GitEnvironment { temporary: temporary.path().join("nowhere"), ..machine };
    let error = Repository::open(directory.path(), &nowhere).expect_err("no temporary directory");
    assert!(matches!(error, GitError::NoTemporary { .. }) && std::error::Error::source(&error).is_none());
}

#[test]
fn an_empty_git_directory_is_passed_over_and_a_pointer_to_none_is_not() {
    let (directory, repository) = repository();
    let below = directory.path().join("stack/below");
    std::fs::create_dir_all(below.join(".git")).expect("an empty directory");
    let found = Repository::open(&below, &machine()).expect("the repository above");
    assert_eq!(found.top(), repository.top());
    std::fs::remove_dir(below.join(".git")).expect("an empty directory");
    std::fs::write(below.join(".git"), "gitdir: nowhere\n").expect("a pointer");
    let error = Repository::open(&below, &machine()).expect_err("a working tree without its repository");
    assert!(matches!(&error, GitError::OutOfReach(_)), "{error}");
}

#[test]
fn the_marks_of_an_index_are_read_in_every_version_of_it() {
    for (format, ways) in [
        ("sha1", vec!["--index-version=2", "--index-version=3", "--index-version=4", "--split-index"]),
        ("sha256", vec!["--index-version=2", "--index-version=4", "--split-index"]),
    ] {
        for way in ways {
            let directory = tempfile::tempdir().expect("a directory");
            let here = directory.path();
            git(here, &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
            let mut names = vec!["long/".to_owned() + &"n".repeat(5000)];
            names.extend((0..300).map(|at| format!("d{}/file-{at}", at % 7)));
            for name in names.iter().filter(|name| name.len() < 200) {
                let file = here.join(name);
                std::fs::create_dir_all(file.parent().expect("above")).expect("a directory");
                std::fs::write(file, name).expect("a file");
            }
            std::os::unix::fs::symlink("d0", here.join("link")).expect("a link");
            commit(here, "one");
            let object = git(here, &["rev-parse", "HEAD:d0/file-0"]);
            // No file system takes that name.
            git(here, &["update-index", "--add", "--cacheinfo", &format!("100644,{object},{}", names[0])]);
            git(here, &["update-index", way]);
            let read = || RepositoryPaths::search(here).expect("a repository").index();
            let index = read();
            assert!(!names.iter().any(|name| index.hides(name)), "{format} {way}");
            assert_eq!(index.links, ["link"], "{format} {way}");
            git(here, &["update-index", "--skip-worktree", "d3/file-3", "d5/file-299", &names[0]]);
            git(here, &["update-index", "--assume-unchanged", "d5/file-12"]);
            let index = read();
            let hidden: Vec<&str> = names.iter().map(String::as_str).filter(|name| index.hides(name)).collect();
            let expected = [&names[0], "d3/file-3", "d5/file-12", "d5/file-299"];
            // What takes the place of an entry of the other file of a split index has no path.
            assert!(hidden == expected || index.is_unclear && way == "--split-index", "{format} {way}: {hidden:?}");
            let file = here.join(".git/index");
            let bytes = std::fs::read(&file).expect("the index");
            std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("a half");
            assert!(read().is_unclear || way == "--split-index", "{format} {way}");
            std::fs::write(&file, "DIRC").expect("a start");
            assert!(read().is_unclear, "{format} {way}");
        }
    }
}

#[test]
fn a_repository_that_somebody_else_put_above_the_definitions_is_not_used() {
    let (directory, _) = repository();
    let chown = |path: &Path, user: u32| std::os::unix::fs::lchown(path, Some(user), None);
    let stack = directory.path().join("stack");
    if chown(&stack, 4711).is_err() {
        // Only root can give files away.
        return;
    }
    // A container runs as root on the checkout of another user.
    for entry in walkdir::WalkDir::new(directory.path()) {
        chown(entry.expect("a file").path(), 4711).expect("another owner");
    }
    assert!(Repository::open(&stack, &machine()).is_ok_and(|repository| repository.head().is_ok()));
    chown(&directory.path().join(".git"), 4712).expect("another owner");
    let error = Repository::open(&stack, &machine()).expect_err("somebody else's repository");
    assert!(matches!(&error, GitError::OtherOwner(_)), "{error}");
}

#[test]
fn every_version_of_a_file_is_read_whatever_the_name_of_its_directory() {
    for name in ["a\nb", "with blanks \"\\", ":(top)"] {
        let (directory, _) = repository();
        let stack = directory.path().join(name);
        std::fs::create_dir(&stack).expect("a directory");
        let write = |text: &str| std::fs::write(stack.join("trueup.yaml"), text).expect("a file");
        write("one");
        commit(directory.path(), "one");
        git(directory.path(), &["checkout", "-q", "-b", "side"]);
        write("side");
        commit(directory.path(), "side");
        git(directory.path(), &["checkout", "-q", "main"]);
        write("two");
        commit(directory.path(), "two");
        git(directory.path(), &["merge", "-q", "-s", "ours", "--no-commit", "side"]);
        write("merged");
        commit(directory.path(), "merged");
        std::fs::remove_file(stack.join("trueup.yaml")).expect("a file");
        commit(directory.path(), "gone");
        write("again");
        commit(directory.path(), "again");
        let mut versions = Vec::new();
        let read = Repository::open(&stack, &machine()).expect("a repository").versions(
            "trueup.yaml",
            |_| false,
            |bytes| versions.push(String::from_utf8_lossy(bytes).into_owned()),
        );
        assert!(read.is_ok(), "{name}: {read:?}");
        assert_eq!(versions.first().map(String::as_str), Some("again"), "{name}");
        versions.sort();
        assert_eq!(versions, ["again", "merged", "one", "side", "two"], "{name}");
    }
}

#[test]
fn a_version_that_cannot_be_read_is_an_error_and_not_a_removed_file() {
    let (directory, _) = repository();
    let file = directory.path().join("stack/trueup.yaml");
    std::fs::write(&file, "one").expect("a file");
    commit(directory.path(), "one");
    let object = git(directory.path(), &["rev-parse", "HEAD:stack/trueup.yaml"]);
    std::fs::write(&file, "two").expect("a file");
    commit(directory.path(), "two");
    let object = directory.path().join(".git/objects").join(&object[..2]).join(&object[2..]);
    std::fs::remove_file(object).expect("a loose object");
    let repository = Repository::open(&directory.path().join("stack"), &machine()).expect("a repository");
    assert!(repository.versions("trueup.yaml", |_| false, |_| {}).is_err());
}

#[test]
fn a_file_that_was_moved_from_where_no_text_names_it_has_versions_that_are_not_known() {
    use std::os::unix::ffi::OsStrExt as _;
    let (directory, _) = repository();
    let before = directory.path().join(std::ffi::OsStr::from_bytes(b"b\xff"));
    std::fs::create_dir(&before).expect("a directory");
    std::fs::write(before.join("trueup.yaml"), "one").expect("a file");
    commit(directory.path(), "one");
    std::fs::rename(before.join("trueup.yaml"), directory.path().join("stack/trueup.yaml")).expect("moved");
    commit(directory.path(), "two");
    let repository = Repository::open(&directory.path().join("stack"), &machine()).expect("a repository");
    assert!(repository.versions("trueup.yaml", |_| true, |_| {}).is_err());
}

#[test]
fn a_mark_of_the_head_is_another_one_after_each_move_and_the_same_after_other_changes() {
    let top = tempfile::tempdir().expect("a directory");
    for (name, options) in [("files", ""), ("tables", "--ref-format=reftable")] {
        let main = top.path().join(name);
        std::fs::create_dir(&main).expect("a directory");
        let init: Vec<&str> =
            ["init", "-q", "-b", "main", options].into_iter().filter(|word| !word.is_empty()).collect();
        if !options.is_empty()
            && !Command::new("git").arg("-C").arg(&main).args(&init).output().expect("git").status.success()
        {
            // An older git knows no tables.
            continue;
        }
        git(&main, &init);
        commit(&main, "one");
        let linked = top.path().join(format!("{name}-linked"));
        git(&main, &["worktree", "add", "-q", "-b", "linked", linked.to_str().expect("a path")]);
        for tree in [&main, &linked] {
            let mut last = head_mark(tree).expect("a mark");
            let mut is_other = |what: &str| {
                let mark = head_mark(tree).expect("a mark");
                let is_other = mark != last;
                last = mark;
                assert!(is_other, "{name} {what}");
            };
            commit(tree, "two");
            is_other("commit");
            git(tree, &["reset", "-q", "--hard", "HEAD~1"]);
            is_other("reset");
            git(tree, &["pack-refs", "--all"]);
            git(tree, &["checkout", "-q", "--detach"]);
            is_other("detach");
            commit(tree, "three");
            is_other("commit without a branch");
            git(tree, &["checkout", "-q", "-"]);
            is_other("switch");
            git(tree, &["commit", "-q", "--allow-empty", "--amend", "-m", "amended"]);
            is_other("amend");
            let mark = head_mark(tree);
            std::fs::write(tree.join("file"), "x").expect("a file");
            git(tree, &["add", "file"]);
            assert_eq!(head_mark(tree), mark);
            if options.is_empty() {
                git(tree, &["branch", "-f", "other"]);
                git(tree, &["pack-refs", "--all"]);
                assert_eq!(head_mark(tree), mark, "packed references");
            }
        }
    }
    assert_eq!(head_mark(top.path()), None);
}
