//! The context of a call, as far as it decides which service is used and whether it receives a token.

use std::path::PathBuf;

use crate::api::BaseUrl;
use crate::model::Name;

/// The context of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenContext {
    /// Its name.
    pub name: String,
    /// Its service.
    pub base_url: BaseUrl,
    /// Its stack.
    pub stack: Option<Name>,
    /// Where its token is.
    pub token: Option<ContextToken>,
}

/// Where the token of a context is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextToken {
    /// In this variable.
    Variable(String),
    /// In this file.
    File(PathBuf),
}
