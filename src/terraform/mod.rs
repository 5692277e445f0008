//! Endpoints that Terraform manages, as definitions of this program. A state file, the output of
//! `terraform show -json` and configuration in JSON syntax (`*.tf.json`) go in; endpoints come out, each with
//! the address of its resource, beside the resources that cannot be read and why. Only resources of the type
//! `volterra_endpoint` are read: a state contains secrets of others.

mod attributes;
mod document;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Endpoint, Key};

pub use document::Document;
use document::Resource;

/// The resource type of the vendor's provider.
pub const RESOURCE_TYPE: &str = "volterra_endpoint";

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
    /// The state has a format that this version does not read.
    #[error("its format version is {version}, and only 4 is read")]
    Version {
        /// The version in the file.
        version: u64,
    },
    /// The document is of another kind.
    #[error("it is neither a state, nor the output of `terraform show -json`, nor configuration in JSON syntax")]
    Kind,
}

/// The endpoints of one or more files of Terraform.
#[derive(Debug, Default)]
pub struct Import {
    /// Each endpoint with the address of its resource.
    pub endpoints: BTreeMap<Key, (String, Endpoint)>,
    /// Resources that no definition can be made of, by address, with the reason as a fragment.
    pub left_out: BTreeMap<String, String>,
}

impl Import {
    /// Adds the documents of one configuration. Of a resource that its state has, the configuration adds nothing.
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

    fn add_resource(&mut self, Resource { address, attributes }: Resource) {
        let endpoint = match attributes.and_then(|attributes| attributes::endpoint(&attributes)) {
            Ok(endpoint) => endpoint,
            Err(reason) => {
                self.left_out.insert(address, reason);
                return;
            }
        };
        match self.endpoints.get(&endpoint.key) {
            Some((first, _)) => {
                let reason = format!("`{first}` has the same namespace and name, {}", endpoint.key);
                self.left_out.insert(address, reason);
            }
            None => {
                self.endpoints.insert(endpoint.key.clone(), (address, endpoint));
            }
        }
    }
}
