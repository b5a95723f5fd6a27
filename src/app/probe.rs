//! What servers serve of what a version pins, asked before a pointer moves.

use std::collections::{BTreeMap, HashMap};

use tokio::task::JoinSet;

use super::{App, AppError, Kind};
use crate::{
    catalog::{EnvironmentPolicy, Member, ProbeAnswer, Probed, Version},
    contract::Contract,
    json::Digest,
    name::ServerName,
    snapshot::Outcome,
};

/// Servers that are asked at once.
const AT_ONCE: usize = 16;

impl App {
    /// Asks every server that a version pins contracts of, under the context that catalogs rely on. Nothing is recorded:
    /// whoever moves keeps the answer with the move.
    pub(super) async fn probed(
        &self,
        version: &Version,
        demands: Option<&EnvironmentPolicy>,
    ) -> Result<Vec<Probed>, AppError> {
        let mut waiting = pins(&version.content.members).into_iter();
        let mut asked = JoinSet::new();
        let mut all = Vec::new();
        loop {
            while asked.len() < AT_ONCE
                && let Some((server, pinned)) = waiting.next()
            {
                let serving = demands.map_or(&server, |d| d.serving(&server)).clone();
                let app = self.clone();
                asked.spawn(async move { app.probe(server, serving, pinned).await });
            }
            let Some(ended) = asked.join_next().await else { break };
            let probed = ended
                .map_err(|e| AppError::new(Kind::Internal, "internal", format!("a probe ended: {e}")))?;
            all.push(probed?);
        }
        all.sort_by(|a, b| a.server.cmp(&b.server));
        Ok(all)
    }

    async fn probe(
        &self,
        server: ServerName,
        serving: ServerName,
        pinned: BTreeMap<String, Digest>,
    ) -> Result<Probed, AppError> {
        let asked = (serving != server).then(|| serving.clone());
        let answer = |answer, message: String| Probed {
            server: server.clone(),
            asked: asked.clone(),
            answer,
            changed: Vec::new(),
            missing: Vec::new(),
            message,
        };
        if self.store.registration(&serving).await?.is_none() {
            return Ok(answer(ProbeAnswer::Unregistered, String::new()));
        }
        let listing = match self.list_registered(&serving).await {
            Ok(listing) => listing,
            Err(e) if e.kind == Kind::Internal => return Err(e),
            Err(e) => return Ok(answer(ProbeAnswer::Unreachable, e.message)),
        };
        if listing.outcome != Outcome::Ok {
            let message = format!("{}: {}", listing.outcome, listing.evidence.message);
            return Ok(answer(ProbeAnswer::Unreachable, message));
        }
        // Of a name that is listed with different contents nobody knows which one a call meets: nothing.
        let mut served: HashMap<String, Option<Digest>> = HashMap::new();
        for tool in &listing.tools {
            match Contract::of(tool) {
                Ok(contract) => {
                    let raw = Some(contract.digests().raw.clone());
                    let known = served.entry(contract.name).or_insert_with(|| raw.clone());
                    if *known != raw {
                        *known = None;
                    }
                }
                Err(e) => return Ok(answer(ProbeAnswer::Unreachable, e.to_string())),
            }
        }
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for (tool, raw) in pinned {
            match served.get(&tool) {
                None => missing.push(tool),
                Some(now) if now.as_ref() != Some(&raw) => changed.push(tool),
                Some(_) => {}
            }
        }
        let found =
            if changed.is_empty() && missing.is_empty() { ProbeAnswer::Serves } else { ProbeAnswer::Differs };
        Ok(Probed { changed, missing, ..answer(found, String::new()) })
    }
}

/// The pinned tools of each server, with their raw digests.
fn pins(members: &[Member]) -> BTreeMap<ServerName, BTreeMap<String, Digest>> {
    let mut pins: BTreeMap<ServerName, BTreeMap<String, Digest>> = BTreeMap::new();
    for member in members {
        if let (Some(server), Some(digests)) = (&member.server, &member.digests) {
            pins.entry(server.clone()).or_default().insert(member.tool.clone(), digests.raw.clone());
        }
    }
    pins
}
