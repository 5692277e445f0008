//! Reads objects that Terraform manages, as definitions. Input is a state file, the output of `terraform show -json` or
//! configuration in JSON syntax (`*.tf.json`); output are objects with the addresses of their resources, and the
//! resources that cannot be read, with the reason. Only resources of the vendor's provider are read, by the description
//! of their kind, and never a secret: a state contains the secrets of all resources.

mod attributes;
mod document;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Key, Object};

pub use document::Document;
use document::Resource;

/// The prefix of the vendor's resource types, before the name of the kind.
pub const TYPE_PREFIX: &str = "volterra_";

/// A file without resources of Terraform.
#[derive(Debug, thiserror::Error)]
pub enum TerraformError {
    /// The text has a syntax error.
    #[error("it is not valid JSON, at line {line}, column {column}")]
    Syntax {
        /// Counts from 1.
        line: usize,
        /// Counts from 1.
        column: usize,
    },
    /// The state has a format version that is not supported.
    #[error("its format version is {0}, and only 4 is read")]
    Version(u64),
    /// The output of `terraform show -json PLAN`.
    #[error("it is a plan, and not a state")]
    Plan,
    /// The document is of another kind.
    #[error("it is neither a state, nor the output of `terraform show -json`, nor configuration in JSON syntax")]
    Kind,
}

/// The objects of one or more files of Terraform.
#[derive(Debug, Default)]
pub struct Import {
    /// Each object with the address of its resource.
    pub objects: BTreeMap<Key, (String, Object)>,
    /// The attributes of an object that Terraform marks as sensitive.
    pub sensitive: BTreeMap<Key, BTreeSet<String>>,
    /// Resources that cannot become definitions: the address, which can be in several files, and the reason as a
    /// fragment.
    pub left_out: Vec<(String, String)>,
    /// The addresses of resources of the vendor's provider that are not objects of a known kind.
    pub unread: BTreeSet<String>,
}

impl Import {
    /// Adds the documents of one configuration. A resource in its state takes precedence over the one in configuration.
    pub fn add(&mut self, documents: Vec<Document>) {
        let states = documents.iter().filter(|document| document.is_state);
        let in_state: BTreeSet<String> =
            states.flat_map(|state| &state.resources).map(|resource| resource.base().to_owned()).collect();
        for Document { is_state, resources } in documents {
            for resource in resources {
                if is_state || !in_state.contains(resource.base()) {
                    self.add_resource(resource);
                }
            }
        }
    }

    fn add_resource(&mut self, Resource { kind, address, attributes, sensitive }: Resource) {
        let Some(kind) = kind else {
            self.unread.insert(address);
            return;
        };
        let endpoint = match attributes.and_then(|attributes| attributes::object(kind, &attributes)) {
            Ok(endpoint) => endpoint,
            Err(reason) => return self.leave_out(address, reason, &sensitive),
        };
        match self.objects.get(&endpoint.key) {
            Some((first, _)) => {
                let reason = format!("`{first}` has the same namespace and name, {}", endpoint.key);
                self.left_out.push((address, reason));
            }
            None => {
                self.sensitive.insert(endpoint.key.clone(), sensitive);
                self.objects.insert(endpoint.key.clone(), (address, endpoint));
            }
        }
    }

    /// Leaves out a resource. If Terraform marks some of its attributes as `sensitive`, the reason is hidden: it may
    /// quote them.
    pub fn leave_out(&mut self, address: String, reason: String, sensitive: &BTreeSet<String>) {
        let names = sensitive.iter().map(|name| format!("`{name}`")).reduce(|all, one| all + ", " + &one);
        let hidden = |names| format!("it is not valid; why is not shown, because Terraform marks {names} as sensitive");
        self.left_out.push((address, names.map_or(reason, hidden)));
    }
}
